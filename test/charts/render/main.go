// Renders a Helm chart as `helm template` does, on what Helm itself is made of: Go's text/template, sprig, sigs.k8s.io/yaml
// and gojsonschema. It knows no subcharts, hooks or release records, and asks no cluster: `lookup` finds nothing.
//
// Takes {"chart": folder, "cases": [{"release", "namespace", "values", "apiVersions"}]} on standard input, and answers a
// list of {"files": {path: text}, "error": text}, one for each case.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/semver"
	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

// Values has the type that functions of sprig are handed by Helm, too.
type Values map[string]interface{}

type metadata struct {
	APIVersion  string   `json:"apiVersion"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	AppVersion  string   `json:"appVersion"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	KubeVersion string   `json:"kubeVersion"`
	Keywords    []string `json:"keywords"`
}

type chart struct {
	metadata  metadata
	values    []byte
	schema    []byte
	templates map[string]string
	files     files
}

type testCase struct {
	Release     string   `json:"release"`
	Namespace   string   `json:"namespace"`
	Values      Values   `json:"values"`
	APIVersions []string `json:"apiVersions"`
}

type answer struct {
	Files map[string]string `json:"files"`
	Error string            `json:"error"`
}

// What a cluster of today says of itself.
const kubeVersion = "v1.33.0"

func main() {
	var input struct {
		Chart string     `json:"chart"`
		Cases []testCase `json:"cases"`
	}
	check(json.NewDecoder(os.Stdin).Decode(&input))
	loaded, err := load(input.Chart)
	check(err)
	answers := make([]answer, 0, len(input.Cases))
	for _, each := range input.Cases {
		rendered, err := render(loaded, each)
		if err != nil {
			answers = append(answers, answer{Error: err.Error()})
			continue
		}
		answers = append(answers, answer{Files: rendered})
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func load(folder string) (chart, error) {
	loaded := chart{templates: map[string]string{}, files: files{}}
	err := filepath.Walk(folder, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(folder, name)
		switch relative = filepath.ToSlash(relative); {
		case relative == "Chart.yaml":
			return yaml.UnmarshalStrict(text, &loaded.metadata)
		case relative == "values.yaml":
			loaded.values = text
		case relative == "values.schema.json":
			loaded.schema = text
		case strings.HasPrefix(relative, "templates/"):
			loaded.templates[relative] = string(text)
		default:
			loaded.files[relative] = text
		}
		return nil
	})
	return loaded, err
}

func render(loaded chart, given testCase) (map[string]string, error) {
	if err := suits(loaded.metadata.KubeVersion); err != nil {
		return nil, err
	}
	// Read anew for each case: templates may write into it.
	defaults := Values{}
	if err := yaml.Unmarshal(loaded.values, &defaults); err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	values := coalesce(given.Values, defaults)
	if err := validate(loaded, values); err != nil {
		return nil, err
	}
	release := map[string]interface{}{
		"Name": given.Release, "Namespace": given.Namespace, "IsInstall": true, "IsUpgrade": false,
		"Revision": 1, "Service": "Helm",
	}
	top := func(name string) map[string]interface{} {
		base := path.Join(loaded.metadata.Name, "templates")
		return map[string]interface{}{
			"Values": values, "Release": release, "Chart": loaded.metadata, "Files": loaded.files,
			"Capabilities": newCapabilities(given.APIVersions), "Subcharts": map[string]interface{}{},
			"Template": map[string]interface{}{"Name": name, "BasePath": base},
		}
	}
	root := template.New("gotpl").Option("missingkey=zero")
	root.Funcs(functions(root, map[string]int{}))
	names := make([]string, 0, len(loaded.templates))
	for name := range loaded.templates {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		full := path.Join(loaded.metadata.Name, name)
		if _, err := root.New(full).Parse(loaded.templates[name]); err != nil {
			return nil, fmt.Errorf("parse error at (%s): %w", full, err)
		}
	}
	rendered := map[string]string{}
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		full := path.Join(loaded.metadata.Name, name)
		var text strings.Builder
		if err := root.ExecuteTemplate(&text, full, top(full)); err != nil {
			return nil, err
		}
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return rendered, nil
}

func suits(constraint string) error {
	if constraint == "" {
		return nil
	}
	wanted, err := semver.NewConstraint(constraint)
	if err != nil {
		return fmt.Errorf("Chart.yaml: kubeVersion: %w", err)
	}
	if !wanted.Check(semver.MustParse(kubeVersion)) {
		return fmt.Errorf("chart requires kubeVersion: %s", constraint)
	}
	return nil
}

// The user's values over the chart's: maps are merged, everything else is replaced, null takes a key away.
func coalesce(given, defaults map[string]interface{}) Values {
	merged := Values{}
	for key, value := range defaults {
		merged[key] = value
	}
	for key, value := range given {
		if value == nil {
			delete(merged, key)
			continue
		}
		ours, isMap := merged[key].(map[string]interface{})
		theirs, both := value.(map[string]interface{})
		if isMap && both {
			merged[key] = map[string]interface{}(coalesce(theirs, ours))
			continue
		}
		merged[key] = value
	}
	return merged
}

func validate(loaded chart, values Values) error {
	if loaded.schema == nil {
		return nil
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(loaded.schema), gojsonschema.NewBytesLoader(text))
	if err != nil {
		return err
	}
	if result.Valid() {
		return nil
	}
	lines := []string{}
	for _, each := range result.Errors() {
		lines = append(lines, fmt.Sprintf("- %s", each))
	}
	return errors.New("values don't meet the specifications of the schema(s) in the following chart(s):\n" +
		loaded.metadata.Name + ":\n" + strings.Join(lines, "\n"))
}

type version struct{ Version, Major, Minor string }

// GitVersion is what older charts ask for.
func (known version) GitVersion() string { return known.Version }
func (known version) String() string     { return known.Version }

type apiVersions []string

// Has tells whether the cluster has an API.
func (known apiVersions) Has(name string) bool {
	for _, each := range known {
		if each == name {
			return true
		}
	}
	return false
}

type capabilities struct {
	KubeVersion version
	APIVersions apiVersions
	HelmVersion map[string]string
}

func newCapabilities(more []string) capabilities {
	parsed := semver.MustParse(kubeVersion)
	return capabilities{
		KubeVersion: version{kubeVersion, fmt.Sprint(parsed.Major()), fmt.Sprint(parsed.Minor())},
		APIVersions: append(apiVersions{"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}, more...),
		HelmVersion: map[string]string{"Version": "v3.17.0"},
	}
}

type files map[string][]byte

// Get is the text of a file of the chart that is no template; empty where there is none.
func (all files) Get(name string) string { return string(all[name]) }

func functions(root *template.Template, depth map[string]int) template.FuncMap {
	all := sprig.TxtFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	all["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	all["fromYaml"] = func(text string) map[string]interface{} {
		value := map[string]interface{}{}
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			value["Error"] = err.Error()
		}
		return value
	}
	all["fromYamlArray"] = func(text string) []interface{} {
		value := []interface{}{}
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			value = []interface{}{err.Error()}
		}
		return value
	}
	all["toJson"] = func(value interface{}) string {
		text, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(text)
	}
	all["fromJson"] = func(text string) map[string]interface{} {
		value := map[string]interface{}{}
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value["Error"] = err.Error()
		}
		return value
	}
	all["lookup"] = func(string, string, string, string) map[string]interface{} { return map[string]interface{}{} }
	all["required"] = func(warning string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, errors.New(warning)
		}
		return value, nil
	}
	all["include"] = func(name string, data interface{}) (string, error) {
		if depth[name] > 1000 {
			return "", fmt.Errorf("template %s includes itself without end", name)
		}
		depth[name]++
		defer func() { depth[name]-- }()
		var text strings.Builder
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	all["tpl"] = func(text string, data interface{}) (string, error) {
		copied, err := root.Clone()
		if err != nil {
			return "", err
		}
		copied.Option("missingkey=zero")
		copied.Funcs(functions(copied, depth))
		parsed, err := copied.New(root.Name() + "-tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		if err := parsed.Execute(&out, data); err != nil {
			return "", err
		}
		return strings.ReplaceAll(out.String(), "<no value>", ""), nil
	}
	return all
}
