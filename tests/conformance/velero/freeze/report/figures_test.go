package report

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestSummaryOfSamples(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   figure
	}{
		{"none", nil, figure{}},
		{"one is median and maximum", []float64{4}, figure{4, 4, 1}},
		{"odd: the middle one, in whatever order", []float64{9, 1, 2}, figure{2, 9, 3}},
		{"even: the mean of the middle two", []float64{8, 1, 2, 3}, figure{2.5, 8, 4}},
	} {
		if got := summarize(c.values); got != c.want {
			t.Errorf("%s: %+v, wanted %+v", c.name, got, c.want)
		}
	}
}

func TestSummaryLeavesTheSamplesInTheirOrder(t *testing.T) {
	values := []float64{3, 1, 2}
	summarize(values)
	if !reflect.DeepEqual(values, []float64{3, 1, 2}) {
		t.Errorf("now %v", values)
	}
}

func TestRatioOfMedians(t *testing.T) {
	r := madeUp(1, 8)
	if got := ratio(r.window("ours", Pair{8, "1.2s"}), r.window("slow", Pair{8, "1.2s"})); math.Abs(got-16.1/40.1) > 1e-12 {
		t.Errorf("%g, wanted %g", got, 16.1/40.1)
	}
	if got := ratio(r.window("ours", Pair{8, "1.2s"}), r.window("slow", Pair{8, "7s"})); got != 0 {
		t.Errorf("a ratio of %g with what was not measured", got)
	}
}

func TestPairsAreSortedByTimeAndTheMixIsLast(t *testing.T) {
	r := &Results{}
	for _, pair := range []Pair{{8, Mix}, {1, "3s"}, {8, "300ms"}, {1, Mix}, {1, "300ms"}, {8, "300ms"}} {
		r.Samples = append(r.Samples, Sample{Pair: pair})
	}
	if want := []Pair{{1, "300ms"}, {8, "300ms"}, {1, "3s"}, {1, Mix}, {8, Mix}}; !reflect.DeepEqual(r.pairs(), want) {
		t.Errorf("%v, wanted %v", r.pairs(), want)
	}
}

func TestReferenceIsTheLatencyWithTheMostVolumes(t *testing.T) {
	r := madeUp(1, 2, 16)
	r.Samples = append(r.Samples, backup("ours", Pair{1, "0.3s"}, 1, 1), backup("ours", Pair{8, "0.3s"}, 1, 8))
	latency, volumes := r.reference()
	if latency != "1.2s" || !reflect.DeepEqual(volumes, []int{1, 2, 16}) {
		t.Errorf("%s with %v", latency, volumes)
	}
	if got := r.typical(); got != (Pair{16, "1.2s"}) {
		t.Errorf("without 8 volumes the typical pair is %v", got)
	}
	if got := madeUp(1, 8, 16).typical(); got != (Pair{8, "1.2s"}) {
		t.Errorf("with 8 volumes the typical pair is %v", got)
	}
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), ResultsFile)
	written := madeUp(1, 2)
	if err := written.Write(path); err != nil {
		t.Fatal(err)
	}
	read, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, written) {
		t.Errorf("read\n%+v\nwritten\n%+v", read, written)
	}
}

func TestResultsThatNoReportCanBeMadeOf(t *testing.T) {
	for _, c := range []struct {
		change func(*Results)
		want   string
	}{
		{func(r *Results) { r.Samples = nil }, "no samples"},
		{func(r *Results) { r.Samples[0].Strategy = "other" }, `"other"`},
		{func(r *Results) { r.Samples[0].WindowSeconds = 0 }, "window of 0 s"},
		{func(r *Results) { r.Samples[0].Volumes = 0 }, "0 volumes"},
	} {
		path := filepath.Join(t.TempDir(), ResultsFile)
		results := madeUp(1)
		c.change(results)
		if err := results.Write(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("wanted %q, got %v", c.want, err)
		}
	}
}
