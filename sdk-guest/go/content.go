package plugport

// Content is the content of a tool's result or a prompt: text, a picture, sound, a resource or a link to one. Its
// functions make it and its methods set further fields.
type Content struct {
	form     contentForm
	text     string
	media    []byte
	mimeType string
	resource Contents
	link     ResourceInfo

	audience     []Role
	priority     *float64
	lastModified string
	extra        map[string]any
}

type contentForm uint8

const (
	textForm contentForm = iota
	imageForm
	audioForm
	resourceForm
	linkForm
)

// Text is text for the model or the person.
func Text(text string) Content { return Content{text: text} }

// Image is a picture: its bytes (not base64) and its type, such as image/png.
func Image(data []byte, mimeType string) Content {
	return Content{form: imageForm, media: data, mimeType: mimeType}
}

// Audio is sound: its bytes (not base64) and its type, such as audio/wav.
func Audio(data []byte, mimeType string) Content {
	return Content{form: audioForm, media: data, mimeType: mimeType}
}

// Embedded is a resource, sent along in full. It needs a URI.
func Embedded(resource Contents) Content { return Content{form: resourceForm, resource: resource} }

// Link is a link to a resource that the client may read later. More can be said by [ResourceLink].
func Link(uri, name string) Content { return ResourceLink(ResourceInfo{URI: uri, Name: name}) }

// ResourceLink is a link to a resource with all that is known of it.
func ResourceLink(info ResourceInfo) Content { return Content{form: linkForm, link: info} }

// Audience says whom this is for: the person, the model, or both.
func (c Content) Audience(audience ...Role) Content {
	c.audience = audience
	return c
}

// Priority says how much this matters, from 0 (may be dropped) to 1 (must be seen).
func (c Content) Priority(priority float64) Content {
	c.priority = &priority
	return c
}

// LastModified says when the content last changed, as ISO 8601.
func (c Content) LastModified(time string) Content {
	c.lastModified = time
	return c
}

// Extra adds further MCP fields, such as _meta. A later call replaces an earlier one.
func (c Content) Extra(fields map[string]any) Content {
	c.extra = fields
	return c
}

// AsText is the text, when this is text.
func (c Content) AsText() (string, bool) { return c.text, c.form == textForm }

// Media is the bytes and the type of a picture or of sound.
func (c Content) Media() ([]byte, string) { return c.media, c.mimeType }
