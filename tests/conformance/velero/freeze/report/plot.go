package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const width, height = 18 * vg.Centimeter, 11 * vg.Centimeter

// Colours that differ for the colour-blind too (Okabe and Ito's), and a shape each.
var palette = []struct {
	colour color.Color
	shape  draw.GlyphDrawer
}{
	{color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}, draw.CircleGlyph{}},
	{color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, draw.BoxGlyph{}},
	{color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, draw.PyramidGlyph{}},
	{color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, draw.CrossGlyph{}},
	{color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, draw.RingGlyph{}},
}

var face = font.Font{Typeface: "Liberation", Variant: "Sans"}

var limitColour = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}

// Plot is the freeze window over volumes at the reference latency, one line per strategy, as SVG.
func Plot(r *Results) ([]byte, error) {
	p, err := draft(r)
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(width, height)
	const margin = 6
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var svg bytes.Buffer
	if _, err = canvas.WriteTo(&svg); err != nil {
		return nil, err
	}
	// Where that font is not, one of the same measures does, and never the viewer's choice.
	return bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

func draft(r *Results) (*plot.Plot, error) {
	latency, volumes := r.reference()
	plot.DefaultFont = face
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text = fmt.Sprintf("Freeze window at %s of storage per snapshot (median of %s)", amount(latency), plural(r.Rounds, "round"))
	p.X.Label.Text, p.Y.Label.Text = "volumes", "seconds frozen"
	p.Title.Padding, p.X.Padding, p.Y.Padding = vg.Points(8), vg.Points(2), vg.Points(2)
	// Both grow by doubling, and windows proportional to the volumes are parallel lines then.
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = marks(volumes), doubled{}
	p.Add(&plotter.Grid{Horizontal: draw.LineStyle{Color: color.Gray{0xe4}, Width: vg.Points(0.5)}})

	low, high := VSSLimit, VSSLimit
	var names []name
	for i, strategy := range r.Strategies {
		style := palette[i%len(palette)]
		var points plotter.XYs
		for _, count := range volumes {
			if f := r.window(strategy.Name, Pair{count, latency}); f.count > 0 {
				points = append(points, plotter.XY{X: float64(count), Y: f.median})
				low, high = min(low, f.median), max(high, f.median)
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = style.colour, vg.Points(1.8)
		if i >= len(palette) || i == len(r.Strategies)-1 {
			// Two lines that lie on each other are both seen.
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		dots.Color, dots.Shape, dots.Radius = style.colour, style.shape, vg.Points(3)
		p.Add(line, dots)
		names = append(names, name{strategy.Name, points[len(points)-1], style.colour})
	}
	least, most := float64(volumes[0]), float64(volumes[len(volumes)-1])
	limit, err := plotter.NewLine(plotter.XYs{{X: least / 1.15, Y: VSSLimit}, {X: most * 1.15, Y: VSSLimit}})
	if err != nil {
		return nil, err
	}
	limit.Color, limit.Width, limit.Dashes = limitColour, vg.Points(1.2), []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(limit)
	// Room at the right for the names of the lines.
	p.X.Min, p.X.Max = least/1.15, most*math.Pow(most/least*2, 0.4)*1.15
	p.Y.Min, p.Y.Max = low/1.3, high*1.3
	names = append(names, name{"Windows VSS thaws: 10 s", plotter.XY{X: most * 1.15, Y: VSSLimit}, limitColour})
	return p, addNames(p, apart(names, p.Y.Min, p.Y.Max))
}

// name is the text at the end of a line.
type name struct {
	text   string
	at     plotter.XY
	colour color.Color
}

// apart moves names up that would lie on each other.
func apart(names []name, low, high float64) []name {
	slices.SortStableFunc(names, func(a, b name) int {
		switch {
		case a.at.Y < b.at.Y:
			return -1
		case a.at.Y > b.at.Y:
			return 1
		}
		return 0
	})
	step := math.Pow(high/low, 0.05)
	for i := 1; i < len(names); i++ {
		names[i].at.Y = max(names[i].at.Y, names[i-1].at.Y*step)
	}
	return names
}

func addNames(p *plot.Plot, names []name) error {
	for _, one := range names {
		labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{one.at}, Labels: []string{one.text}})
		if err != nil {
			return err
		}
		labels.TextStyle[0].Color = one.colour
		labels.TextStyle[0].Font = font.From(face, vg.Points(10))
		labels.TextStyle[0].YAlign = text.YCenter
		labels.Offset = vg.Point{X: vg.Points(7), Y: vg.Points(1.5)}
		p.Add(labels)
	}
	return nil
}

// marks are the numbers of volumes that were measured, and no others.
type marks []int

// Ticks makes marks a plot.Ticker.
func (m marks) Ticks(_, _ float64) []plot.Tick {
	var ticks []plot.Tick
	for _, value := range m {
		ticks = append(ticks, plot.Tick{Value: float64(value), Label: fmt.Sprint(value)})
	}
	return ticks
}

// doubled marks an axis at 1, 2, 5, 10, 20, 50, …
type doubled struct{}

// Ticks makes doubled a plot.Ticker.
func (doubled) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := 0.01; decade <= high; decade *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if value := decade * step; value >= low && value <= high {
				ticks = append(ticks, plot.Tick{Value: value, Label: fmt.Sprintf("%.3g", value)})
			}
		}
	}
	return ticks
}
