package openai

import (
	"fmt"

	"github.com/fieldfare/fieldfare/core"
	model "github.com/fieldfare/fieldfare/text"
)

// part reads one part of a message's content.
func (r *reader) part(m *Message, v value, at string) (model.Part, *Error) {
	kind, err := partType(v, at)
	if err != nil {
		return model.Part{}, err
	}
	var p model.Part
	switch kind {
	case "text":
		return p, textPart(&p.Text, kind).read(v, at)
	case "refusal":
		if m.Role == "assistant" {
			return p, textPart(&p.Text, kind).read(v, at)
		}
	case "image_url", "image_file":
		p.Image = true
		return p, r.image(m, kind, v, at)
	case "input_audio", "file", "video_url", "audio_url":
		return p, refuse(CodeUnsupportedContent, at,
			"parts of type %q are not supported: the model reads text and pictures", kind)
	}
	return p, refuse(CodeUnsupportedContent, at, "a message of role %s has no parts of type %q", m.Role, shorten(kind))
}

func partType(v value, at string) (string, *Error) {
	if v.kind() != "object" {
		return "", wrongType(v, at, "an object")
	}
	for _, m := range v.members() {
		if m.key == "type" && m.value.kind() == "string" {
			return m.value.text(), nil
		}
	}
	return "", refuse(CodeMissing, at+".type", "every part has a type")
}

func textPart(dst *string, key string) fields {
	return fields{"type": ignored, key: text(dst), "cache_control": ignored, "annotations": ignored}
}

// image reads a picture into m.
func (r *reader) image(m *Message, kind string, v value, at string) *Error {
	switch {
	case m.Role != "user" && m.Role != "tool" && m.Role != "function":
		return refuse(CodeUnsupportedContent, at, "pictures belong in messages of role user and tool, not %s", m.Role)
	case r.opts.Images.Most > 0 && r.images == r.opts.Images.Most:
		return refuse(CodeTooManyImages, at, "a request holds at most %d pictures", r.opts.Images.Most)
	}
	r.images++
	picture := core.Media{Name: fmt.Sprintf("image %d", r.images)}
	var err *Error
	if kind == "image_file" {
		err = r.imageFile(&picture, v, at)
	} else {
		err = r.imageURL(&picture, v, at)
	}
	if most := r.opts.Images.MostBytes; err == nil && most > 0 && len(picture.Data) > most {
		err = refuse(CodeImageTooLarge, at, "the picture has %d bytes, at most %d are taken", len(picture.Data), most)
	}
	m.Images = append(m.Images, picture)
	return err
}

// imageURL reads {"type":"image_url","image_url":{"url":…,"detail":…}}; some clients give the URL without the object.
func (r *reader) imageURL(picture *core.Media, v value, at string) *Error {
	found, detail := false, "auto"
	url := func(v value, at string) (err *Error) {
		if v.kind() != "string" {
			return wrongType(v, at, "a string")
		}
		found = true
		picture.Data, err = decodeDataURL(v.text(), at)
		return err
	}
	inner := fields{"url": url, "detail": oneOf(&detail, "low", "auto", "high"), "format": ignored}
	err := fields{
		"type": ignored,
		"image_url": func(v value, at string) *Error {
			if v.kind() == "string" {
				return url(v, at)
			}
			return inner.read(v, at)
		},
		"detail":        inner["detail"],
		"cache_control": ignored,
	}.read(v, at)
	if err == nil && !found {
		err = refuse(CodeMissing, at+".image_url.url", "a picture has a URL")
	}
	picture.Budget = r.opts.Images.budget(detail)
	return err
}

// imageFile reads {"type":"image_file","path":…}, which only local files of messages may hold.
func (r *reader) imageFile(picture *core.Media, v value, at string) *Error {
	if r.opts.Images.ReadFile == nil {
		return refuse(CodeUnsupportedContent, at, "files are not opened for a request: send the picture as a data: URL")
	}
	var path string
	detail := "auto"
	err := fields{
		"type": ignored, "path": text(&path), "detail": oneOf(&detail, "low", "auto", "high"),
	}.read(v, at)
	if err != nil {
		return err
	}
	picture.Name, picture.Budget = path, r.opts.Images.budget(detail)
	data, failed := r.opts.Images.ReadFile(path)
	if failed != nil {
		return refuse(CodeInvalidImage, at, "%v", failed)
	}
	picture.Data = data
	return nil
}
