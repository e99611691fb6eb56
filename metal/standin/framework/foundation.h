// foundation.h - the few classes of Foundation that Metal's interface needs.
#pragma once
#include "runtime.h"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace standin {

struct NSObject : Object {};

struct NSString : NSObject {
  std::string text;
};

struct NSArray : NSObject {
  std::vector<Object *> items;
  ~NSArray();
};

struct NSDictionary : NSObject {
  std::vector<std::pair<std::string, Object *>> items;  // keys are strings
  ~NSDictionary();
};

struct NSError : NSObject {
  std::string domain;
  long code = 0;
  std::function<std::string()> describe;  // called when somebody asks
};

// New strings and errors: the caller owns them, or gives them to autorelease.
NSString *new_string(const std::string &text);
NSError *new_error(const char *domain, long code, std::function<std::string()> describe);
// Stores an autoreleased error where the caller of a method wants it.
void set_error(Object **error, const char *domain, long code, const std::string &text);

}  // namespace standin
