package mtl

import "strings"

// A message is one selector of one class, with its types as in Apple's headers.
type message struct {
	class, selector, result, arguments string

	sel   uintptr // registered when the framework is loaded
	words int     // of arguments after self and the selector; structs in memory not counted
}

var messages []*message

func declare(class, selector, result, arguments string) *message {
	m := &message{class: class, selector: selector, result: result, arguments: arguments}
	for arg := range strings.SplitSeq(arguments, "; ") {
		switch arg {
		case "", "MTL::Size":
		case "NS::Range":
			m.words += 2
		default:
			m.words++
		}
	}
	messages = append(messages, m)
	return m
}

// Foundation.
var (
	msgInit        = declare("NS::Object", "-init", "_Class*", "")
	msgInitCString = declare("NS::String", "-initWithCString:encoding:",
		"NS::String*", "const char*; StringEncoding")
	msgUTF8       = declare("NS::String", "-UTF8String", "const char*", "")
	msgArrayCount = declare("NS::Array", "-count", "NS::UInteger", "")
	msgArrayAt    = declare("NS::Array", "-objectAtIndex:", "_Object*", "UInteger")
	msgDictionary = declare("NS::Dictionary", "+dictionaryWithObjects:forKeys:count:",
		"NS::Dictionary*", "const Object* const*; const Object* const*; UInteger")
	msgErrorDomain   = declare("NS::Error", "-domain", "NS::ErrorDomain", "")
	msgErrorCode     = declare("NS::Error", "-code", "NS::Integer", "")
	msgErrorDescribe = declare("NS::Error", "-localizedDescription", "NS::String*", "")
)

// Device, memory, events.
var (
	msgName           = declare("MTL::Device", "-name", "NS::String*", "")
	msgSupportsFamily = declare("MTL::Device", "-supportsFamily:", "bool", "MTL::GPUFamily")
	msgUnifiedMemory  = declare("MTL::Device", "-hasUnifiedMemory", "bool", "")
	msgMaxBuffer      = declare("MTL::Device", "-maxBufferLength", "NS::UInteger", "")
	msgWorkingSet     = declare("MTL::Device", "-recommendedMaxWorkingSetSize", "uint64_t", "")
	msgMaxThreadgroup = declare("MTL::Device", "-maxThreadgroupMemoryLength", "NS::UInteger", "")
	msgMaxThreads     = declare("MTL::Device", "-maxThreadsPerThreadgroup", "MTL::Size", "")
	msgNewBuffer      = declare("MTL::Device", "-newBufferWithLength:options:",
		"MTL::Buffer*", "NS::UInteger; MTL::ResourceOptions")
	msgWrapBuffer = declare("MTL::Device", "-newBufferWithBytesNoCopy:length:options:deallocator:",
		"MTL::Buffer*", "const void*; NS::UInteger; MTL::ResourceOptions; void (^deallocator)(void*, NS::UInteger)")
	msgContents   = declare("MTL::Buffer", "-contents", "void*", "")
	msgSetLabel   = declare("MTL::Resource", "-setLabel:", "void", "const NS::String*")
	msgNewEvent   = declare("MTL::Device", "-newSharedEvent", "MTL::SharedEvent*", "")
	msgEventValue = declare("MTL::SharedEvent", "-signaledValue", "uint64_t", "")
	msgEventSet   = declare("MTL::SharedEvent", "-setSignaledValue:", "void", "uint64_t")
)

// Libraries and pipelines.
var (
	msgNewLibrary = declare("MTL::Device", "-newLibraryWithSource:options:error:",
		"MTL::Library*", "const NS::String*; const MTL::CompileOptions*; NS::Error**")
	msgSetVersion     = declare("MTL::CompileOptions", "-setLanguageVersion:", "void", "MTL::LanguageVersion")
	msgSetFastMath    = declare("MTL::CompileOptions", "-setFastMathEnabled:", "void", "bool")
	msgSetMacros      = declare("MTL::CompileOptions", "-setPreprocessorMacros:", "void", "const NS::Dictionary*")
	msgFunctionNames  = declare("MTL::Library", "-functionNames", "NS::Array*", "")
	msgNewFunction    = declare("MTL::Library", "-newFunctionWithName:", "MTL::Function*", "const NS::String*")
	msgNewSpecialised = declare("MTL::Library", "-newFunctionWithName:constantValues:error:",
		"MTL::Function*", "const NS::String*; const MTL::FunctionConstantValues*; NS::Error**")
	msgSetConstant = declare("MTL::FunctionConstantValues", "-setConstantValue:type:atIndex:",
		"void", "const void*; MTL::DataType; NS::UInteger")
	msgNewPipeline = declare("MTL::Device", "-newComputePipelineStateWithFunction:error:",
		"MTL::ComputePipelineState*", "const MTL::Function*; NS::Error**")
	msgPipelineThreads  = declare("MTL::ComputePipelineState", "-maxTotalThreadsPerThreadgroup", "NS::UInteger", "")
	msgPipelineWidth    = declare("MTL::ComputePipelineState", "-threadExecutionWidth", "NS::UInteger", "")
	msgPipelineTGMemory = declare("MTL::ComputePipelineState", "-staticThreadgroupMemoryLength", "NS::UInteger", "")
)

// Queues and command buffers.
var (
	msgNewQueue       = declare("MTL::Device", "-newCommandQueue", "MTL::CommandQueue*", "")
	msgCommandBuffer  = declare("MTL::CommandQueue", "-commandBuffer", "MTL::CommandBuffer*", "")
	msgCommandLabel   = declare("MTL::CommandBuffer", "-setLabel:", "void", "const NS::String*")
	msgComputeEncoder = declare("MTL::CommandBuffer", "-computeCommandEncoderWithDispatchType:",
		"MTL::ComputeCommandEncoder*", "MTL::DispatchType")
	msgBlitEncoder = declare("MTL::CommandBuffer", "-blitCommandEncoder", "MTL::BlitCommandEncoder*", "")
	msgSignalEvent = declare("MTL::CommandBuffer", "-encodeSignalEvent:value:",
		"void", "const MTL::Event*; uint64_t")
	msgWaitEvent = declare("MTL::CommandBuffer", "-encodeWaitForEvent:value:",
		"void", "const MTL::Event*; uint64_t")
	msgCommit        = declare("MTL::CommandBuffer", "-commit", "void", "")
	msgWaitCompleted = declare("MTL::CommandBuffer", "-waitUntilCompleted", "void", "")
	msgStatus        = declare("MTL::CommandBuffer", "-status", "MTL::CommandBufferStatus", "")
	msgCommandError  = declare("MTL::CommandBuffer", "-error", "NS::Error*", "")
	msgStartTime     = declare("MTL::CommandBuffer", "-GPUStartTime", "CFTimeInterval", "")
	msgEndTime       = declare("MTL::CommandBuffer", "-GPUEndTime", "CFTimeInterval", "")
	msgEndEncoding   = declare("MTL::CommandEncoder", "-endEncoding", "void", "")
	msgCopyBuffer    = declare("MTL::BlitCommandEncoder", "-copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
		"void", "const MTL::Buffer*; NS::UInteger; const MTL::Buffer*; NS::UInteger; NS::UInteger")
	msgFillBuffer = declare("MTL::BlitCommandEncoder", "-fillBuffer:range:value:",
		"void", "const MTL::Buffer*; NS::Range; uint8_t")
	msgSetPipeline = declare("MTL::ComputeCommandEncoder", "-setComputePipelineState:",
		"void", "const MTL::ComputePipelineState*")
	msgSetBuffer = declare("MTL::ComputeCommandEncoder", "-setBuffer:offset:atIndex:",
		"void", "const MTL::Buffer*; NS::UInteger; NS::UInteger")
	msgSetBuffers = declare("MTL::ComputeCommandEncoder", "-setBuffers:offsets:withRange:",
		"void", "const MTL::Buffer* const[]; const NS::UInteger[]; NS::Range")
	msgSetBytes = declare("MTL::ComputeCommandEncoder", "-setBytes:length:atIndex:",
		"void", "const void*; NS::UInteger; NS::UInteger")
	msgSetThreadgroup = declare("MTL::ComputeCommandEncoder", "-setThreadgroupMemoryLength:atIndex:",
		"void", "NS::UInteger; NS::UInteger")
	msgBarrier = declare("MTL::ComputeCommandEncoder", "-memoryBarrierWithScope:",
		"void", "MTL::BarrierScope")
	msgDispatchThreads = declare("MTL::ComputeCommandEncoder", "-dispatchThreads:threadsPerThreadgroup:",
		"void", "MTL::Size; MTL::Size")
)

// Classes whose instances are allocated here.
var (
	classString         = class("NSString")
	classDictionary     = class("NSDictionary")
	classCompileOptions = class("MTLCompileOptions")
	classConstants      = class("MTLFunctionConstantValues")
)

// A classRef is a class by name, found when the framework is loaded.
type classRef struct {
	name string
	id   uintptr
}

var classes []*classRef

func class(name string) *classRef {
	c := &classRef{name: name}
	classes = append(classes, c)
	return c
}
