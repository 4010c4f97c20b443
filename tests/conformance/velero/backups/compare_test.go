package backups

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// A difference is one that two backups of the same application may have, and why. One that is listed and not found is
// as wrong as one that is found and not listed.
type difference struct {
	// at matches the path of a value.
	at     string
	reason string
}

// compare puts two backups of one application beside each other: the status, every archived object, VolumeInfo, the
// operations and the list of resources. What is made anew for every backup gets the name of its role first.
func (s *setting) compare(one, other backedUp, allowed []difference) {
	s.Helper()
	first, second := one.values(s), other.values(s)
	found := make([]bool, len(allowed))
	var problems []string
	for _, path := range slices.Sorted(maps.Keys(union(first, second))) {
		if first[path] == second[path] {
			continue
		}
		at := slices.IndexFunc(allowed, func(d difference) bool { return regexp.MustCompile("^" + d.at + "$").MatchString(path) })
		if at >= 0 {
			found[at] = true
			continue
		}
		problems = append(problems, fmt.Sprintf("%s\n    %-40s %s\n    %-40s %s", path, one.name(), orNone(first[path]), other.name(), orNone(second[path])))
	}
	for i, difference := range allowed {
		if !found[i] {
			problems = append(problems, fmt.Sprintf("%s is the same in both, and should differ: %s", difference.at, difference.reason))
		}
	}
	if len(problems) > 0 {
		s.Errorf("%s and %s differ:\n%s", one.name(), other.name(), strings.Join(problems, "\n"))
	}
}

// backedUp is a finished backup and what it has left in the object store.
type backedUp struct {
	*velerov1.Backup
	archive *bench.Archive
}

func (b backedUp) name() string { return b.Name }

// values are the backup's values by path.
func (b backedUp) values(s *setting) map[string]string {
	s.Helper()
	roles := b.roles()
	into := map[string]string{}
	status, err := json.Marshal(b.Status)
	if err != nil {
		s.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(status, &fields); err != nil {
		s.Fatal(err)
	}
	flatten(into, "status", fields, roles)
	for key, object := range b.archive.Objects {
		flatten(into, roles.Replace(key), object.Object, roles)
	}
	for _, info := range b.archive.VolumeInfo {
		flatten(into, fmt.Sprintf("volumeinfo/%v/%v", info["pvcName"], info["backupMethod"]), info, roles)
	}
	for _, operation := range b.archive.ItemOperations {
		name, _, _ := unstructured.NestedString(operation, "spec", "resourceIdentifier", "Name")
		flatten(into, "operation/"+roles.Replace(name), operation, roles)
	}
	for kind, names := range b.archive.ResourceList {
		for _, name := range names {
			into["resources/"+kind+"/"+roles.Replace(name)] = "there"
		}
	}
	return into
}

// roles replaces the names, UIDs and handles that each backup makes anew.
func (b backedUp) roles() *strings.Replacer {
	pairs := map[string]string{b.Name: "BACKUP", string(b.UID): "BACKUP-UID"}
	for _, snapshot := range b.archive.Of(volumeSnapshots) {
		claim, _, _ := unstructured.NestedString(snapshot.Object, "spec", "source", "persistentVolumeClaimName")
		pairs[snapshot.GetName()] = "SNAPSHOT-OF-" + claim
		pairs[string(snapshot.GetUID())] = "SNAPSHOT-UID-OF-" + claim
		bound, _, _ := unstructured.NestedString(snapshot.Object, "status", "boundVolumeSnapshotContentName")
		content := b.archive.Objects[volumeSnapshotContents+"/"+bound]
		if content == nil {
			continue
		}
		pairs[bound] = "CONTENT-OF-" + claim
		pairs[string(content.GetUID())] = "CONTENT-UID-OF-" + claim
		if handle, _, _ := unstructured.NestedString(content.Object, "status", "snapshotHandle"); handle != "" {
			pairs[handle] = "HANDLE-OF-" + claim
		}
	}
	// The longest first: a content's name has a snapshot's UID in it.
	names := slices.Collect(maps.Keys(pairs))
	sort.Slice(names, func(i, j int) bool { return len(names[i]) > len(names[j]) })
	var arguments []string
	for _, name := range names {
		arguments = append(arguments, name, pairs[name])
	}
	return strings.NewReplacer(arguments...)
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// flatten writes every value under its path. Times become the word TIME, so that one that is missing is still seen;
// what the API server counts for itself is left out.
func flatten(into map[string]string, path string, value any, roles *strings.Replacer) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			into[path] = "{}"
		}
		for key, below := range value {
			switch {
			case key == "managedFields" || key == "resourceVersion":
			case key == "creationTime" && fmt.Sprintf("%T", below) != "string":
				// A content's is a number of nanoseconds.
				into[path+"."+key] = "TIME"
			default:
				flatten(into, path+"."+roles.Replace(key), below, roles)
			}
		}
	case []any:
		if len(value) == 0 {
			into[path] = "[]"
		}
		for i, below := range value {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), below, roles)
		}
	default:
		text, _ := json.Marshal(value)
		into[path] = timestamp.ReplaceAllString(roles.Replace(string(text)), "TIME")
	}
}

func union(one, other map[string]string) map[string]string {
	all := maps.Clone(one)
	maps.Copy(all, other)
	return all
}

func orNone(text string) string {
	if text == "" {
		return "(nothing)"
	}
	return text
}
