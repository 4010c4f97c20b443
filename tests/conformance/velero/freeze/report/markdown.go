package report

import (
	"fmt"
	"slices"
	"strings"
)

// VSSLimit is the seconds after which Windows thaws by itself.
const VSSLimit = 10.0

// Names of the files of a report, in one folder.
const (
	ResultsFile  = "freeze-windows.json"
	MarkdownFile = "freeze-windows.md"
	PlotFile     = "freeze-windows.svg"
)

// Markdown is the whole report.
func Markdown(r *Results) string {
	var text strings.Builder
	latency, volumes := r.reference()
	text.WriteString("# Freeze windows\n\n")
	fmt.Fprintf(&text, `How long an application is frozen while Velero takes the CSI snapshots of its volumes: the time between the
stamps of its own freeze and thaw hooks, over whole backups by a Velero %s server with kube-apiserver %s,
snapshot-controller and csi-snapshotter %s, and %s.
Made by `+"`tests/conformance/bench`"+`; every single sample is in [%s](%s).
Windows VSS thaws by itself after %g s.

`, r.Velero, r.Kubernetes, r.Snapshotter, r.Plugin, ResultsFile, ResultsFile, VSSLimit)
	for _, strategy := range r.Strategies {
		fmt.Fprintf(&text, "* **%s**: %s\n", strategy.Name, strategy.Title)
	}
	fmt.Fprintf(&text, "\n![Freeze window over volumes](%s)\n\n", PlotFile)

	text.WriteString("## In short\n\n" + ReadmeBlock(r))
	r.otherLatencies(&text, latency)
	r.requests(&text, latency, volumes)
	r.processes(&text, latency, volumes)
	r.handshakes(&text)
	text.WriteString(r.reproduce())
	return text.String()
}

func pairsOf(latency string, volumes []int) []Pair {
	pairs := make([]Pair, len(volumes))
	for i, number := range volumes {
		pairs[i] = Pair{number, latency}
	}
	return pairs
}

// column is what a row begins with.
type column struct {
	title string
	of    func(Pair) string
}

func (r *Results) windows(text *strings.Builder, first column, pairs []Pair) {
	ours, others := r.ours()
	header := []string{first.title}
	for _, strategy := range r.Strategies {
		header = append(header, strategy.Name)
	}
	for _, our := range ours {
		for _, other := range others {
			header = append(header, our.Name+" ÷ "+other.Name)
		}
	}
	var rows [][]string
	for _, pair := range pairs {
		row := []string{first.of(pair)}
		for _, strategy := range r.Strategies {
			row = append(row, cell(r.window(strategy.Name, pair), "%.1f"))
		}
		for _, our := range ours {
			for _, other := range others {
				row = append(row, quotient(ratio(r.window(our.Name, pair), r.window(other.Name, pair))))
			}
		}
		rows = append(rows, row)
	}
	table(text, header, rows)
}

func (r *Results) otherLatencies(text *strings.Builder, reference string) {
	others := slices.DeleteFunc(r.pairs(), func(p Pair) bool { return p.Latency == reference })
	if len(others) == 0 {
		return
	}
	text.WriteString("## Other storage\n\nSeconds, median (maximum).")
	if slices.ContainsFunc(others, func(p Pair) bool { return p.Latency == Mix }) {
		fmt.Fprintf(text, " The mix is drawn once, with seed %d; its volumes take, in this order,\n%s s.", r.MixSeed, strings.Trim(fmt.Sprint(r.MixSeconds), "[]"))
	}
	text.WriteString("\n\n")
	r.windows(text, column{"storage", func(p Pair) string {
		return fmt.Sprintf("%s, %s", amount(p.Latency), plural(p.Volumes, "volume"))
	}}, others)
}

func (r *Results) handshakes(text *strings.Builder) {
	text.WriteString("## From exec to handshake\n\nMilliseconds until the started plugin has written its first line, the programs taking turns.\n\n")
	var rows [][]string
	for _, program := range r.measuredPrograms() {
		figure := summarize(r.Handshakes[program])
		rows = append(rows, []string{"`" + program + "`", number(figure, figure.median, "%.1f"), number(figure, figure.max, "%.1f"), fmt.Sprint(figure.count)})
	}
	table(text, []string{"program", "median", "maximum", "starts"}, rows)
}

// measuredPrograms are those whose start was measured, in the order of the strategies.
func (r *Results) measuredPrograms() []string {
	var programs []string
	for _, strategy := range r.Strategies {
		if len(r.Handshakes[strategy.Process]) > 0 && !slices.Contains(programs, strategy.Process) {
			programs = append(programs, strategy.Process)
		}
	}
	return programs
}

func table(text *strings.Builder, header []string, rows [][]string) {
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	text.WriteString("|---|" + strings.Repeat("---:|", len(header)-1) + "\n")
	for _, row := range rows {
		line(row)
	}
	text.WriteString("\n")
}

const absent = "–"

func number(f figure, value float64, format string) string {
	if f.count == 0 {
		return absent
	}
	return fmt.Sprintf(format, value)
}

// cell has the maximum only where it says more than the median.
func cell(f figure, format string) string {
	median, most := number(f, f.median, format), number(f, f.max, format)
	if f.count < 2 {
		return median
	}
	return median + " (" + most + ")"
}

func quotient(value float64) string {
	if value == 0 {
		return absent
	}
	return fmt.Sprintf("%.2f", value)
}

func plural(count int, of string) string { return fmt.Sprintf("%d %s", count, noun(count, of)) }

func noun(count int, of string) string {
	if count == 1 {
		return of
	}
	return of + "s"
}

// amount is a latency in words: "1.2 s", "the mix".
func amount(latency string) string {
	if latency == Mix {
		return "the mix"
	}
	return fmt.Sprintf("%g s", length(latency).Seconds())
}
