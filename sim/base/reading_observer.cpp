#include "base/reading_observer.hpp"

namespace mirfak {

namespace {

thread_local ReadingObserver* listening = nullptr;

}  // namespace

ReadingObserver::ReadingObserver() { listening = this; }

ReadingObserver::~ReadingObserver() { listening = nullptr; }

ReadingObserver* reading_observer() { return listening; }

}  // namespace mirfak
