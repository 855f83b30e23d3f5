// Everything of stint's core.
#ifndef STINT_STINT_H_
#define STINT_STINT_H_

#include "stint/amount.h"
#include "stint/async.h"
#include "stint/audit.h"
#include "stint/config.h"
#include "stint/counters.h"
#include "stint/decision.h"
#include "stint/entity.h"
#include "stint/limit.h"
#include "stint/limiter.h"
#include "stint/maintenance.h"
#include "stint/namespaces.h"
#include "stint/observer.h"
#include "stint/request.h"
#include "stint/result.h"
#include "stint/store.h"
#include "stint/store_report.h"
#include "stint/time.h"
#include "stint/version.h"

#endif  // STINT_STINT_H_
