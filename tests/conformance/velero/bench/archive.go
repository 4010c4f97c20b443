package bench

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Archive is what one backup has left in the object store.
type Archive struct {
	// Objects are the archived objects by RESOURCE/NAMESPACE/NAME, or RESOURCE/NAME for a cluster-wide one; RESOURCE
	// is like volumesnapshots.snapshot.storage.k8s.io.
	Objects map[string]*unstructured.Unstructured
	// VolumeInfo has an entry per way in which a volume was backed up or left out, as Velero wrote it.
	VolumeInfo []map[string]any
	// ItemOperations are what went on after the items were collected, as Velero wrote them.
	ItemOperations []map[string]any
	// ResourceList has the names of what was backed up by kind.
	ResourceList map[string][]string
	// Log is the backup's own log.
	Log string
	// Warnings and Errors are the messages of the backup's results, each once.
	Warnings, Errors []string
}

// HasArchive says whether the store has anything of a backup.
func (v *Velero) HasArchive(backup string) bool {
	entries, err := os.ReadDir(filepath.Join(v.store(), bucket, "backups", backup))
	return err == nil && len(entries) > 0
}

// Archive reads what a finished backup has left in the object store.
func (v *Velero) Archive(backup string) (*Archive, error) {
	archive := &Archive{Objects: map[string]*unstructured.Unstructured{}}
	file := func(suffix string) string {
		return filepath.Join(v.store(), bucket, "backups", backup, backup+suffix)
	}
	if err := archive.readObjects(file(".tar.gz")); err != nil {
		return nil, err
	}
	if err := readJSON(file("-volumeinfo.json.gz"), &archive.VolumeInfo); err != nil {
		return nil, err
	}
	if err := readJSON(file("-itemoperations.json.gz"), &archive.ItemOperations); err != nil {
		return nil, err
	}
	if err := readJSON(file("-resource-list.json.gz"), &archive.ResourceList); err != nil {
		return nil, err
	}
	log, err := readCompressed(file("-logs.gz"))
	if err != nil {
		return nil, err
	}
	archive.Log = string(log)
	archive.Warnings, archive.Errors, err = readResults(file("-results.gz"))
	return archive, err
}

// readResults reads the messages of a backup's or a restore's results.
func readResults(path string) (warnings, failures []string, err error) {
	var results map[string]struct {
		Velero, Cluster []string
		Namespaces      map[string][]string
	}
	if err := readJSON(path, &results); err != nil {
		return nil, nil, err
	}
	for kind, into := range map[string]*[]string{"warnings": &warnings, "errors": &failures} {
		result := results[kind]
		*into = append(append(*into, result.Velero...), result.Cluster...)
		for _, messages := range result.Namespaces {
			*into = append(*into, messages...)
		}
	}
	return warnings, failures, nil
}

// readObjects reads the tarball. Every object is in it twice, once in the preferred version's folder.
func (a *Archive) readObjects(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	reader := tar.NewReader(unpacked)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		parts := strings.Split(strings.TrimSuffix(header.Name, ".json"), "/")
		if len(parts) < 4 || parts[0] != "resources" {
			continue
		}
		var key string
		switch {
		case parts[2] == "cluster" && len(parts) == 4:
			key = parts[1] + "/" + parts[3]
		case parts[2] == "namespaces" && len(parts) == 5:
			key = parts[1] + "/" + parts[3] + "/" + parts[4]
		default:
			continue
		}
		object := &unstructured.Unstructured{}
		if err := json.NewDecoder(reader).Decode(&object.Object); err != nil {
			return fmt.Errorf("%s: %s: %w", path, header.Name, err)
		}
		a.Objects[key] = object
	}
}

// Of are the archived objects of one resource.
func (a *Archive) Of(resource string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for key, object := range a.Objects {
		if strings.HasPrefix(key, resource+"/") {
			found = append(found, object)
		}
	}
	return found
}

func readJSON(path string, into any) error {
	text, err := readCompressed(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readCompressed(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(reader)
}
