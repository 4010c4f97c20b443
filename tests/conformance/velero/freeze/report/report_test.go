package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository is where this package is in it.
const repository = "../../../../.."

// contains demands whole lines, so that a cell more or less is seen.
func contains(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func TestMarkdownOfAllStrategies(t *testing.T) {
	r := madeUp(1, 8)
	r.Samples = append(r.Samples, backup("slow", Pair{8, "7s"}, 1, 80), backup("ours", Pair{8, "7s"}, 1, 64), backup("ours", Pair{1, Mix}, 1, 3))
	r.MixSeed, r.MixSeconds = 7, []float64{0.3, 2.5}
	contains(t, Markdown(r),
		"| volumes | slow | fast | ours | ours ÷ slow | ours ÷ fast |",
		"| 1 | 5.1 (6.0) | 2.2 (3.1) | 2.1 (3.0) | 0.41 | 0.95 |",
		"| 8 | 40.1 (41.0) | 16.9 (17.8) | 16.1 (17.0) | 0.40 | 0.95 |",
		"| 7 s, 8 volumes | 80.0 | – | 64.0 | 0.80 | – |",
		"| the mix, 1 volume | – | – | 3.0 | – | – |",
		"0.3 2.5 s.",
		"| slow: `theirs` | 4.0 | 1.4 |",
		"| ours: `ours` | 2.0 | 2.0 |",
		"| ours: `theirs` | 4.0 | 1.4 |",
		"| ours: both | 6.0 | 3.4 |",
		"| `ours`: get things | 0 | 0 | 16 |",
		"| `theirs`: create things | 8 | 8 | 8 |",
		"| slow: `theirs` | 100 (100) | 100 (100) |",
		"| ours: `ours` | 10.0 (10.0) | 10.0 (10.0) |",
		"| `theirs` | 60.0 | 70.0 | 3 |",
		"| `ours` | 3.0 | 4.0 | 3 |",
	)
}

func TestMarkdownOfOneRoundHasNoMaxima(t *testing.T) {
	r := without(madeUp(1), func(s Sample) bool { return s.Round > 1 })
	contains(t, Markdown(r), "| 1 | 5.0 | 2.1 | 2.0 | 0.40 | 0.95 |")
}

func TestMarkdownWithoutSamplesOfOneStrategy(t *testing.T) {
	r := without(madeUp(2), func(s Sample) bool { return s.Strategy == "fast" })
	contains(t, Markdown(r), "| 2 | 10.1 (11.0) | – | 4.1 (5.0) | 0.41 | – |")
}

func TestMarkdownTellsOfBackupsThatWereMeasuredLess(t *testing.T) {
	r := madeUp(1)
	contains(t, Markdown(r), "* These results: 3 rounds, on 2 CPUs.")
	r.LongRounds = 1
	contains(t, Markdown(r), "* These results: 3 rounds (1 of what freezes for more than 60 s by its looks alone), on 2 CPUs.")
}

func TestPassMarkHasEveryPairAndEveryOther(t *testing.T) {
	r := madeUp(1, 8)
	r.Samples = append(r.Samples, backup("ours", Pair{1, "7s"}, 1, 8))
	contains(t, PassMark(r),
		"1.2s      1 volume   ours ÷ slow 0.41  ours ÷ fast 0.95",
		"1.2s      8 volumes  ours ÷ slow 0.40  ours ÷ fast 0.95",
		"7s        1 volume   ours ÷ slow –  ours ÷ fast –",
	)
}

func TestReadmeBlockIsReplacedBetweenItsMarkers(t *testing.T) {
	block := ReadmeBlock(madeUp(1, 8))
	contains(t, block,
		"| 8 | 40.1 (41.0) | 16.9 (17.8) | 16.1 (17.0) | 0.40 | 0.95 |",
		"| ours: `ours` | 1.0 | 10 | 10 | 3 |",
		"| ours: `theirs` | 1.0 | 100 | 90 | 60 |",
		"| ours: both | 2.0 | 110 | 100 |  |",
	)
	got, err := ReplaceReadmeBlock("before\n"+ReadmeBegin+"old\n"+ReadmeEnd+"after\n", block)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + ReadmeBegin + block + ReadmeEnd + "after\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	for _, text := range []string{"", ReadmeBegin, ReadmeEnd + ReadmeBegin} {
		if _, err := ReplaceReadmeBlock(text, block); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

func TestPlotNamesWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		name         string
		results      *Results
		want, absent []string
	}{
		{"all", madeUp(1, 2, 4, 8, 16), []string{">slow<", ">fast<", ">ours<", ">Windows VSS thaws: 10 s<", ">16<"}, []string{">3<"}},
		{"one volume", madeUp(1), []string{">slow<", ">ours<", ">Windows VSS thaws: 10 s<", ">1<"}, []string{">16<"}},
		{"a strategy without samples", without(madeUp(1, 2), func(s Sample) bool { return s.Strategy == "fast" }), []string{">slow<", ">ours<"}, []string{">fast<"}},
	} {
		svg, err := Plot(c.results)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		wellFormed(t, svg)
		for _, text := range c.want {
			if !strings.Contains(string(svg), text) {
				t.Errorf("%s: no %s", c.name, text)
			}
		}
		for _, text := range c.absent {
			if strings.Contains(string(svg), text) {
				t.Errorf("%s: %s", c.name, text)
			}
		}
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// What is published is what the published results make of it: no number is written by hand.
func TestPublishedReportIsThatOfThePublishedResults(t *testing.T) {
	docs := filepath.Join(repository, "docs", "benchmarks")
	results, err := Read(filepath.Join(docs, ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := Plot(results)
	if err != nil {
		t.Fatal(err)
	}
	readme := read(t, filepath.Join(repository, "README.md"))
	replaced, err := ReplaceReadmeBlock(readme, ReadmeBlock(results))
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]bool{
		MarkdownFile: read(t, filepath.Join(docs, MarkdownFile)) == Markdown(results),
		PlotFile:     read(t, filepath.Join(docs, PlotFile)) == string(svg),
		"README.md":  readme == replaced,
	} {
		if !same {
			t.Errorf("%s is not that of %s: tests/conformance/bench --render docs/benchmarks/%s", name, ResultsFile, ResultsFile)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
