package openai

import "fmt"

// Codes of errors, as clients test for them.
const (
	CodeInvalidJSON        = "invalid_json"
	CodeInvalidType        = "invalid_type"
	CodeInvalidValue       = "invalid_value"
	CodeMissing            = "missing_required_parameter"
	CodeUnknownParameter   = "unknown_parameter"
	CodeDuplicate          = "duplicate_parameter"
	CodeUnsupported        = "unsupported_parameter"
	CodeUnsupportedValue   = "unsupported_value"
	CodeUnsupportedContent = "unsupported_content"
	CodeInvalidImageURL    = "invalid_image_url"
	CodeInvalidImage       = "invalid_image"
	CodeUnsupportedImage   = "unsupported_image"
	CodeTooManyImages      = "too_many_images"
	CodeImageTooLarge      = "image_too_large"
	CodeContextLength      = "context_length_exceeded"
)

// An Error is what a client is told: the object in OpenAI's envelope.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// TypeInvalidRequest is the type of every Error that a request causes.
const TypeInvalidRequest = "invalid_request_error"

func (e *Error) Error() string { return e.Message }

// refuse makes an Error about the parameter at path at, empty for the whole request.
func refuse(code, at, format string, args ...any) *Error {
	e := &Error{Message: fmt.Sprintf(format, args...), Type: TypeInvalidRequest, Code: code}
	if at != "" {
		e.Param = &at
		e.Message = at + ": " + e.Message
	}
	return e
}

// An ErrorEnvelope is how an Error travels.
type ErrorEnvelope struct {
	Error *Error `json:"error"`
}
