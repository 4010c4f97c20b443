package parity

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

// table is every input, by topic.
func table() []*input {
	var inputs []*input
	for _, part := range []struct {
		topic topic
		of    [][]input
	}{
		{aboutClasses, [][]input{classRules, classDrivers}},
		{aboutEligibility, [][]input{phases, notBound, notCSI, fsBackup, takeOver, refusals}},
		{aboutPolicies, [][]input{policyMatches, policyConditions, policyForms, policyTexts, policySources, policyValidation}},
		{aboutSizes, [][]input{sizes}},
		{aboutLabels, [][]input{labelInputs}},
		{aboutItems, [][]input{items}},
		{aboutWaiting, [][]input{waits, timeouts, faults}},
		{aboutOperations, [][]input{operations}},
	} {
		for _, rows := range part.of {
			for i := range rows {
				rows[i].topic = part.topic
				rows[i].id = fmt.Sprintf("p%03d", len(inputs))
				inputs = append(inputs, &rows[i])
			}
		}
	}
	return inputs
}

// Every input is answered, created and left alike, but for what docs/differences.md lists for it.
func TestParity(t *testing.T) {
	for _, in := range table() {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			in.run(t)
		})
	}
}

// The suite is as large as it must be.
func TestTheTableIsLargeEnough(t *testing.T) {
	names, byTopic := map[string]bool{}, map[topic]int{}
	total, whole, small := 0, 0, 0
	for _, in := range table() {
		if names[in.name] {
			t.Errorf("two inputs are called %q", in.name)
		}
		names[in.name] = true
		byTopic[in.topic]++
		// Progress, Cancel and AppliesTo are beside what is asked for.
		if in.call != nil {
			continue
		}
		total++
		switch {
		case in.smallValue():
			small++
		case in.hasState():
			whole++
		}
	}
	t.Logf("%d Executes: %d with API state beyond a PVC and its PV, %d quantities or labels; all inputs: %v", total, whole, small, byTopic)
	if total < 150 || whole < 60 || small > 40 {
		t.Error("at least 150 Executes are wanted, at least 60 with API state, at most 40 quantities or labels")
	}
}

// run is one input through both.
func (in *input) run(t *testing.T) {
	var sides [2]*side
	for i, builtin := range []bool{true, false} {
		var err error
		if sides[i], err = newSide(t, in, builtin); err != nil {
			t.Fatalf("state: %v", err)
		}
	}
	ended := make(chan error, 2)
	for _, s := range sides {
		go func() { ended <- s.execute() }()
	}
	for range sides {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	builtin, err := sides[0].facts()
	if err != nil {
		t.Fatalf("built-in: %v", err)
	}
	ours, err := sides[1].facts()
	if err != nil {
		t.Fatalf("ours: %v", err)
	}
	t.Logf("built-in: %s (%d warnings, %d errors logged) %s", builtin.outcome(), len(sides[0].lines("warning")), len(sides[0].lines("error")), builtin["error.text"])
	t.Logf("ours:     %s (%d warnings, %d errors logged) %s", ours.outcome(), len(sides[1].lines("warning")), len(sides[1].lines("error")), ours["error.text"])

	if builtin.outcome() != in.want {
		t.Errorf("the built-in's outcome is %q, %q was expected", builtin.outcome(), in.want)
	}
	if class := sides[0].class(builtin); in.class != "" && class != asFact(in.class) {
		t.Errorf("the built-in chose class %s, %s was expected", class, in.class)
	}
	in.checkOurs(t, sides[1], ours)
	for _, problem := range in.compare(builtin, ours) {
		t.Error(problem)
	}
}

// class is the one of this side's last VolumeSnapshot, as a fact.
func (s *side) class(found facts) string {
	return found[fmt.Sprintf("snapshot[%d].spec.volumeSnapshotClassName", len(s.state.Snapshots)-1)]
}

// asFact is a name of the table as facts have it.
func asFact(name string) string {
	return fmt.Sprintf("%q", strings.NewReplacer("{id}", "ID", "{namespace}", "NAMESPACE").Replace(name))
}

// checkOurs demands what holds for our side alone: whatever it answers where the built-in's answer is another, it is
// one that Velero can work with, it leaves nothing after an error, and its log lines are those that are meant.
func (in *input) checkOurs(t *testing.T, s *side, ours facts) {
	switch ours.outcome() {
	case "echo", "done":
	case "snapshot":
		i := strings.Index(ours["additional[0]"], "SNAPSHOT")
		if i < 0 {
			t.Fatalf("additional item %s is no VolumeSnapshot that exists", ours["additional[0]"])
		}
		name := ours["additional[0]"][i:]
		for path, want := range map[string]string{
			"additional[0]": "volumesnapshots.snapshot.storage.k8s.io NAMESPACE/" + name,
			"additional[1]": "", "post[0]": "", "operation": "",
			"item.metadata.labels[velero.io/volume-snapshot-name]":                      fmt.Sprintf("%q", name),
			"item.metadata.annotations[velero.io/volume-snapshot-name]":                 fmt.Sprintf("%q", name),
			"item.metadata.annotations[backup.velero.io/must-include-additional-items]": `"true"`,
			"content[0].handle": "true", "snapshot[0].bound": "true", "content[0].labels": "map[]",
		} {
			if ours[path] != want {
				t.Errorf("ours: %s is %s, %s wanted", path, ours[path], want)
			}
		}
		if class := s.class(ours); in.oursClass != "" && class != asFact(in.oursClass) {
			t.Errorf("ours chose class %s, %s was expected", class, in.oursClass)
		}
	default:
		if ours["error.kind"] == "" {
			t.Errorf("ours: an answer that is neither echo nor snapshot nor error: %s", ours.outcome())
		}
		for _, text := range in.says {
			if !strings.Contains(ours["error.text"], text) {
				t.Errorf("ours: the error does not say %q: %s", text, ours["error.text"])
			}
		}
	}
	failed := ours["error.kind"] != ""
	if (failed || ours.outcome() == "echo") && (len(ours.under("snapshot", "content")) > 0 || ours["storage"] != "0") {
		t.Errorf("ours: something is left: %s", s.state)
	}
	errors := s.lines("error")
	if kind := ours["error.kind"]; in.call != nil || kind == "item" || kind == "backup" {
		// Of a request that cannot be read nobody knows whose it is, and neither does its line. Nor has an operation
		// a namespace.
		return
	}
	if failed != (len(errors) == 1) || len(errors) > 1 {
		t.Errorf("ours: %d error lines, wanted one exactly when it fails:\n%s", len(errors), strings.Join(errors, "\n"))
	}
	if warnings := s.lines("warning"); len(warnings) != in.warnings {
		t.Errorf("ours: %d warnings, %d wanted:\n%s", len(warnings), in.warnings, strings.Join(warnings, "\n"))
	}
}

// compare takes every difference out that is listed for this input and demands that nothing remains, and that each
// of them was there. It returns what is not so.
func (in *input) compare(builtin, ours facts) (problems []string) {
	p := &pair{in: in, builtin: builtin, ours: ours}
	for _, one := range differences {
		declared := slices.Contains(in.differs, one.id)
		if one.everywhere != nil {
			declared = one.everywhere(p)
		}
		if !declared {
			continue
		}
		if !one.take(p) {
			problems = append(problems, one.id+" is listed for this input and does not show")
		}
	}
	var remains []string
	for path, value := range p.builtin {
		if have, found := p.ours[path]; !found {
			remains = append(remains, fmt.Sprintf("%s: %s, nothing here", path, value))
		} else if have != value {
			remains = append(remains, fmt.Sprintf("%s: %s, here %s", path, value, have))
		}
	}
	for path, value := range p.ours {
		if _, found := p.builtin[path]; !found {
			remains = append(remains, fmt.Sprintf("%s: nothing, here %s", path, value))
		}
	}
	if len(remains) > 0 {
		sort.Strings(remains)
		problems = append(problems, "not listed in docs/differences.md:\n  "+strings.Join(remains, "\n  "))
	}
	return problems
}
