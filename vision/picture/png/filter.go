package png

// unfilter undoes a row's filter in place. step is the distance to the pixel on the left, in bytes.
func unfilter(filter byte, row, above []byte, step int) bool {
	above = above[:len(row)]
	switch filter {
	case 0:
	case 1:
		for i := step; i < len(row); i++ {
			row[i] += row[i-step]
		}
	case 2:
		for i, v := range above {
			row[i] += v
		}
	case 3:
		average(row, above, step)
	case 4:
		paeth(row, above, step)
	default:
		return false
	}
	return true
}

func average(row, above []byte, step int) {
	for i := range min(step, len(row)) {
		row[i] += above[i] / 2
	}
	for i := step; i < len(row); i++ {
		row[i] += byte((int(row[i-step]) + int(above[i])) / 2)
	}
}

// paeth adds whichever of left, above and above left is nearest to left + above - above left.
func paeth(row, above []byte, step int) {
	for i := range min(step, len(row)) {
		row[i] += above[i]
	}
	for i := step; i < len(row); i++ {
		left, up, corner := int(row[i-step]), int(above[i]), int(above[i-step])
		pl, pu := up-corner, left-corner
		pc := abs(pl + pu)
		pl, pu = abs(pl), abs(pu)
		switch {
		case pl <= pu && pl <= pc:
			row[i] += byte(left)
		case pu <= pc:
			row[i] += byte(up)
		default:
			row[i] += byte(corner)
		}
	}
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}
