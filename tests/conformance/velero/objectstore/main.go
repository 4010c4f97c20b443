// Command objectstore is a Velero object store plugin on a local directory: the backups of the bench are files that
// a test can read. Signed URLs, from which the velero command downloads, point to the file server of the bench.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework"
)

func main() {
	framework.NewServer().
		RegisterObjectStore("fastpoll.test/local", func(logrus.FieldLogger) (any, error) { return &store{}, nil }).
		Serve()
}

// store keeps the object KEY of a bucket in the file ROOT/BUCKET/KEY.
type store struct{ root, url string }

// Init takes the location's configuration: root, a directory, and url, where it is served.
func (s *store) Init(config map[string]string) error {
	s.root, s.url = config["root"], config["url"]
	if s.root == "" {
		return errors.New("the location's configuration has no root")
	}
	return nil
}

func (s *store) path(bucket, key string) string { return filepath.Join(s.root, bucket, key) }

// PutObject replaces a file in one step, so that no reader ever sees half of it.
func (s *store) PutObject(bucket, key string, body io.Reader) error {
	path := s.path(bucket, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(s.root, "upload-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err = io.Copy(file, body); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func (s *store) ObjectExists(bucket, key string) (bool, error) {
	_, err := os.Stat(s.path(bucket, key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// GetObject says of a missing object what every object store says: Velero reads the text.
func (s *store) GetObject(bucket, key string) (io.ReadCloser, error) {
	file, err := os.Open(s.path(bucket, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("NoSuchKey: %s/%s does not exist", bucket, key)
	}
	return file, err
}

// ListObjects returns the keys that begin with the prefix, in order.
func (s *store) ListObjects(bucket, prefix string) ([]string, error) {
	root := filepath.Join(s.root, bucket)
	keys := []string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		key, err := filepath.Rel(root, path)
		if err == nil && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
		return err
	})
	sort.Strings(keys)
	return keys, err
}

// ListCommonPrefixes returns what the keys below the prefix have in common up to the next delimiter, once each.
func (s *store) ListCommonPrefixes(bucket, prefix, delimiter string) ([]string, error) {
	keys, err := s.ListObjects(bucket, prefix)
	if err != nil {
		return nil, err
	}
	prefixes := []string{}
	for _, key := range keys {
		before, _, found := strings.Cut(strings.TrimPrefix(key, prefix), delimiter)
		if !found {
			continue
		}
		// The keys are in order, so equal prefixes are neighbours.
		if common := prefix + before + delimiter; len(prefixes) == 0 || prefixes[len(prefixes)-1] != common {
			prefixes = append(prefixes, common)
		}
	}
	return prefixes, nil
}

func (s *store) DeleteObject(bucket, key string) error {
	return os.Remove(s.path(bucket, key))
}

func (s *store) CreateSignedURL(bucket, key string, _ time.Duration) (string, error) {
	return s.url + "/" + bucket + "/" + key, nil
}
