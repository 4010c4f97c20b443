package parity

import (
	"strings"
	"testing"
)

// What compares must see: a difference that nobody listed, and a listed one that is not there.
func TestTheComparisonFindsBothKindsOfFault(t *testing.T) {
	answer := func(change func(facts)) facts {
		made := facts{"answer": "snapshot", "additional[0]": "x", "item.spec": "a", "snapshot[0].labels[velero.io/backup-name]": "b"}
		change(made)
		return made
	}
	ours := func(made facts) { made["snapshot[0].labels[velero.io/backup-uid]"] = "UID" }
	for _, one := range []struct {
		name    string
		differs []string
		builtin func(facts)
		ours    func(facts)
		want    string
	}{
		{"equal but for what is listed everywhere", nil, func(facts) {}, ours, ""},
		{"what is listed everywhere is missing", nil, func(facts) {}, func(facts) {}, "D-own-labels is listed"},
		{"another value", nil, func(facts) {}, func(made facts) { ours(made); made["item.spec"] = "c" }, "item.spec: a, here c"},
		{"something more", nil, func(facts) {}, func(made facts) { ours(made); made["post[0]"] = "c" }, "post[0]: nothing, here c"},
		{"something less", nil, func(made facts) { made["post[0]"] = "c" }, ours, "post[0]: c, nothing here"},
		{"listed and not there", []string{"D-unknown-fields"}, func(facts) {}, ours, "D-unknown-fields is listed"},
		{"listed and there", []string{"D-unknown-fields"}, func(facts) {}, func(made facts) { ours(made); made["item.fromTheFuture"] = "1" }, ""},
		{"there and not listed", nil, func(facts) {}, func(made facts) { ours(made); made["item.fromTheFuture"] = "1" }, "item.fromTheFuture"},
		{"another answer", nil, func(facts) {}, func(made facts) { clear(made); made["answer"] = "echo" }, "answer: snapshot, here echo"},
		{"another answer, listed", []string{"D-taken"}, func(facts) {}, func(made facts) { clear(made); made["answer"] = "echo" }, ""},
		{"another answer than the listed one", []string{"D-take-over"}, func(facts) {}, func(made facts) { clear(made); made["answer"] = "echo" }, "D-take-over is listed"},
		{"called twice", []string{"D-second-call"}, func(made facts) { made["snapshot[1].form"], made["storage"] = "b", "2" },
			func(made facts) { ours(made); made["storage"] = "1" }, ""},
		{"called twice, two in our storage as well", []string{"D-second-call"}, func(made facts) { made["snapshot[1].form"], made["storage"] = "b", "2" },
			func(made facts) { ours(made); made["storage"] = "2" }, "D-second-call is listed"},
		{"another error", nil, func(made facts) { clear(made); made["error.kind"] = "class" }, func(made facts) { clear(made); made["error.kind"] = "create" }, "error.kind: class, here create"},
	} {
		t.Run(one.name, func(t *testing.T) {
			in := &input{differs: one.differs}
			problems := strings.Join(in.compare(answer(one.builtin), answer(one.ours)), "\n")
			if one.want == "" && problems != "" || !strings.Contains(problems, one.want) {
				t.Errorf("problems %q, wanted %q", problems, one.want)
			}
		})
	}
}
