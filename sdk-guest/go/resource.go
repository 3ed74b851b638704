package plugport

import (
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// ResourceInfo is what clients are told of a resource.
type ResourceInfo struct {
	URI, Name, Title, Description, MIMEType string
	Extra                                   map[string]any
}

// ResourceTemplateInfo is what clients are told of a template.
type ResourceTemplateInfo struct {
	URITemplate, Name, Title, Description, MIMEType string
	Extra                                           map[string]any
}

// Contents is what a resource holds: text, or bytes when Blob is not nil. URI and MIMEType are those of the resource
// unless they are set.
type Contents struct {
	URI, MIMEType string
	Text          string
	Blob          []byte
	Extra         map[string]any
}

// resource is a fixed resource or a template, whose variables is then set.
type resource struct {
	entry
	uri       string
	variables func() reflect.Type
	gives     func() reflect.Type
	read      func(call *Call, values map[string]string) (any, error)
}

// Resource registers a resource. Its content may be a string, []byte, [Contents], []Contents, and anything else that
// can be JSON.
func Resource[R any](uri, name, description string, read func(call *Call) (R, error), options ...Option) {
	registered.resources = append(registered.resources, &resource{
		entry: entry{aResource, name, description, options},
		uri:   uri,
		gives: reflect.TypeFor[R],
		read:  func(call *Call, _ map[string]string) (any, error) { return read(call) },
	})
}

// ResourceTemplate registers many resources at once. Each variable of the template is a field of the struct V. {x} is a
// segment of a path, {+x} may hold / as well; {/x}, {#x}, {?x,y} and {&x,y} may be left out, and so must be optional
// fields. A URI whose values do not fit is not found.
func ResourceTemplate[V, R any](template, name, description string, read func(call *Call, values V) (R, error), options ...Option) {
	registered.resources = append(registered.resources, &resource{
		entry:     entry{aTemplate, name, description, options},
		uri:       template,
		variables: reflect.TypeFor[V],
		gives:     reflect.TypeFor[R],
		read: func(call *Call, texts map[string]string) (any, error) {
			var values V
			if err := readTexts(texts, &values); err != nil {
				return nil, errNoFit
			}
			return read(call, values)
		},
	})
}

var errNoFit = Errorf(NotFound, "the values do not fit")

func listResources() (infos []ResourceInfo, err error) {
	defer guard(nil, "listing the resources", &err)
	if err := checkResources(); err != nil {
		return nil, err
	}
	for _, it := range registered.resources {
		all := it.about()
		if it.entity == aResource {
			infos = append(infos, ResourceInfo{it.uri, it.name, all.title, it.description, it.mimeType(), all.extra})
		}
		if all.list == nil {
			continue
		}
		listed, err := all.list()
		if err != nil {
			return nil, toError(err)
		}
		infos = append(infos, listed...)
	}
	return infos, nil
}

func listTemplates() (infos []ResourceTemplateInfo, err error) {
	defer guard(nil, "listing the resource templates", &err)
	for _, it := range registered.resources {
		if it.entity == aTemplate {
			all := it.about()
			infos = append(infos, ResourceTemplateInfo{it.uri, it.name, all.title, it.description, it.mimeType(), all.extra})
		}
	}
	return infos, checkResources()
}

func checkResources() error {
	var uris, found []string
	variables := map[string][]string{}
	for _, it := range registered.resources {
		uris = append(uris, it.uri)
		found = append(found, it.problems()...)
		if it.entity != aTemplate {
			continue
		}
		if err := checkTemplate(it.uri, it.variables()); err != nil {
			found = append(found, "the template `"+it.uri+"` cannot be used: "+err.Error())
		}
		expressions, _ := parseTemplate(it.uri)
		for _, expression := range expressions {
			variables[it.uri] = append(variables[it.uri], expression.names...)
		}
	}
	found = append(found, completerProblems(true, variables)...)
	return mistakes("resource", uris, found)
}

// matchedTemplate is a template that a URI comes from, and the values of its variables. The host finds both.
type matchedTemplate struct {
	template  string
	variables map[string]string
}

// readResource reads the fixed resource of the URI, or else one of the template.
func readResource(call *Call, uri string, matched matchedTemplate) (contents []Contents, err error) {
	defer guard(call, "reading `"+uri+"`", &err)
	it := findResource(aResource, uri)
	if it == nil {
		it = findResource(aTemplate, matched.template)
	}
	if it == nil {
		return nil, noSuchResource(uri)
	}
	return it.serve(call, uri, matched.variables)
}

func (r *resource) serve(call *Call, uri string, variables map[string]string) ([]Contents, error) {
	request := Request{Method: "resources/read", Name: uri, Values: variables}
	value, err := serve(call, request, func(call *Call, request Request) (any, error) {
		value, err := r.read(call, request.Values)
		if err == errNoFit {
			return nil, noSuchResource(uri)
		}
		if err != nil {
			return nil, err
		}
		return toContents(value, uri, r.mimeType())
	})
	if err != nil {
		return nil, toError(err)
	}
	return toContents(value, uri, r.mimeType())
}

func findResource(kind entity, uri string) *resource {
	for _, it := range registered.resources {
		if it.entity == kind && it.uri == uri {
			return it
		}
	}
	return nil
}

func noSuchResource(uri string) error {
	return Errorf(NotFound, "there is no resource `%s`", uri)
}

const (
	textType  = "text/plain"
	bytesType = "application/octet-stream"
	jsonType  = "application/json"
)

// mimeType is what the author says, or what values of the type have; empty when each value has its own.
func (r *resource) mimeType() string {
	if said := r.about().mimeType; said != "" {
		return said
	}
	switch r.gives() {
	case reflect.TypeFor[string]():
		return textType
	case reflect.TypeFor[[]byte]():
		return bytesType
	case reflect.TypeFor[Contents](), reflect.TypeFor[[]Contents]():
		return ""
	}
	return jsonType
}

func toContents(value any, uri, mimeType string) ([]Contents, error) {
	var all []Contents
	switch value := value.(type) {
	case string:
		all = []Contents{{Text: value}}
	case []byte:
		all = []Contents{{Blob: append([]byte{}, value...)}}
	case Contents:
		all = []Contents{value}
	case []Contents:
		all = append(all, value...)
	default:
		text, err := schema.JSON(value)
		if err != nil {
			return nil, Errorf(Internal, "the resource cannot be written as JSON: %s", err)
		}
		all = []Contents{{Text: string(text)}}
	}
	for i := range all {
		finish(&all[i], uri, mimeType)
	}
	return all, nil
}

func finish(contents *Contents, uri, mimeType string) {
	if contents.URI == "" {
		contents.URI = uri
	}
	if contents.MIMEType == "" {
		contents.MIMEType = mimeType
	}
	if contents.MIMEType == "" {
		contents.MIMEType = textType
		if contents.Blob != nil {
			contents.MIMEType = bytesType
		}
	}
}
