package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// requests are tables of how many by volumes, during the freeze and in all, and which for the typical pair.
func (r *Results) requests(text *strings.Builder, latency string, volumes []int) {
	fmt.Fprintf(text, `## Requests to the API server

Of the plugin processes, from the API server's audit log by user agent; per PVC, median, at %s. Beside ours, Velero's
own plugin process does what it does in every backup with the VolumeSnapshots and their contents; with the built-in
strategies one process does both. During the freeze:

`, amount(latency))
	perVolume := func(f figure) string { return number(f, f.median, "%.1f") }
	r.byProgram(text, latency, volumes, true, perVolume, frozen)
	text.WriteString("In the whole backup; Velero starts plugin processes anew for each of its phases, and its own discovers the API each\ntime:\n\n")
	r.byProgram(text, latency, volumes, true, perVolume, func(s Sample, program string) (float64, bool) {
		return s.requests(program) / float64(s.Volumes), true
	})

	pair := r.typical()
	fmt.Fprintf(text, "By kind, for %s, median of a whole backup:\n\n", plural(pair.Volumes, "volume"))
	type key struct{ program, kind string }
	var keys []key
	for _, sample := range r.Samples {
		for program, kinds := range sample.Requests {
			for kind := range kinds {
				if sample.Pair == pair && !slices.Contains(keys, key{program, kind}) {
					keys = append(keys, key{program, kind})
				}
			}
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(a.kind, b.kind)) })
	header := []string{"request"}
	for _, strategy := range r.Strategies {
		header = append(header, strategy.Name)
	}
	var rows [][]string
	for _, one := range keys {
		row := []string{"`" + one.program + "`: " + one.kind}
		for _, strategy := range r.Strategies {
			f := r.over(strategy.Name, pair, func(s Sample) (float64, bool) { return float64(s.Requests[one.program][one.kind]), true })
			row = append(row, number(f, f.median, "%g"))
		}
		rows = append(rows, row)
	}
	table(text, header, rows)
}

func (r *Results) processes(text *strings.Builder, latency string, volumes []int) {
	fmt.Fprintf(text, `## CPU time and memory

Of the plugin process that lives through the freeze, at %s. Milliseconds of CPU (user and system) from its start to its
end, median (maximum):

`, amount(latency))
	r.byProgram(text, latency, volumes, false, func(f figure) string { return cell(f, "%.0f") }, cpu)
	text.WriteString("Peak of resident memory in MiB, median (maximum):\n\n")
	r.byProgram(text, latency, volumes, false, func(f figure) string { return cell(f, "%.1f") }, memory)
}

// frozen is the requests per PVC between the stamps.
func frozen(s Sample, program string) (float64, bool) {
	return float64(s.FrozenRequests[program]) / float64(s.Volumes), true
}

// cpu is in milliseconds.
func cpu(s Sample, program string) (float64, bool) {
	process, has := s.Processes[program]
	return process.CPUSeconds * 1000, has
}

// memory is in MiB.
func memory(s Sample, program string) (float64, bool) {
	process, has := s.Processes[program]
	return process.PeakMiB, has
}

// together is the sum over the processes of one backup.
func together(programs []string, of func(Sample, string) (float64, bool)) func(Sample) (float64, bool) {
	return func(s Sample) (all float64, has bool) {
		for _, program := range programs {
			one, measured := of(s, program)
			all, has = all+one, has || measured
		}
		return all, has
	}
}

// byProgram is a table with a row per strategy and program, if asked also of their sum, and a column per number of
// volumes.
func (r *Results) byProgram(text *strings.Builder, latency string, volumes []int, sum bool, show func(figure) string, of func(s Sample, program string) (float64, bool)) {
	header := []string{"strategy: process"}
	for _, count := range volumes {
		header = append(header, plural(count, "volume"))
	}
	var rows [][]string
	add := func(title, strategy string, of func(Sample) (float64, bool)) {
		row := []string{title}
		for _, count := range volumes {
			row = append(row, show(r.over(strategy, Pair{count, latency}, of)))
		}
		rows = append(rows, row)
	}
	for _, strategy := range r.Strategies {
		programs := r.programs(strategy)
		for _, program := range programs {
			add(fmt.Sprintf("%s: `%s`", strategy.Name, program), strategy.Name, func(s Sample) (float64, bool) { return of(s, program) })
		}
		if sum && len(programs) > 1 {
			add(strategy.Name+": both", strategy.Name, together(programs, of))
		}
	}
	table(text, header, rows)
}
