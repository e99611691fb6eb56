package driver

// Size is an extent on three axes, in threads or threadgroups.
type Size struct{ X, Y, Z int }

// D1, D2 and D3 make sizes; axes not given are 1.
func D1(x int) Size       { return Size{x, 1, 1} }
func D2(x, y int) Size    { return Size{x, y, 1} }
func D3(x, y, z int) Size { return Size{x, y, z} }

// Groups is the grid, in threads, of so many whole threadgroups.
func Groups(groups, threadgroup Size) Size {
	return Size{groups.X * threadgroup.X, groups.Y * threadgroup.Y, groups.Z * threadgroup.Z}
}
