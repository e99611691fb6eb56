package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// writeOut writes rows to a file or, for -, to standard output.
func (a *app) writeOut(name string, write func(io.Writer) error) error {
	switch name {
	case "":
		return nil
	case "-":
		return write(a.stdout)
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (b *benchRun) writeCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	var line []string
	for i, row := range b.rows {
		if i == 0 {
			for _, c := range row {
				line = append(line, c.Name)
			}
			w.Write(line) // the first error stays until Error
		}
		line = line[:0]
		for _, c := range row {
			line = append(line, fmt.Sprint(c.Value))
		}
		w.Write(line)
	}
	w.Flush()
	return w.Error()
}

func (b *benchRun) writeJSON(out io.Writer) error {
	rows := make([]map[string]any, len(b.rows))
	for i, row := range b.rows {
		rows[i] = map[string]any{}
		for _, c := range row {
			rows[i][c.Name] = c.Value
		}
	}
	return json.NewEncoder(out).Encode(rows)
}

// writeTable is for people: what a row is about, and the share of each stage.
func (b *benchRun) writeTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, row := range b.rows {
		shown := row[:len(row)-len(b.about)]
		if i == 0 {
			for _, c := range shown {
				fmt.Fprintf(w, "%s\t", c.Name)
			}
			fmt.Fprintln(w)
		}
		for _, c := range shown {
			if v, ok := c.Value.(float64); ok {
				fmt.Fprintf(w, "%.3f\t", v)
			} else {
				fmt.Fprintf(w, "%v\t", c.Value)
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
