// A process that follows a folder of instance records as a gateway does; without one it is idle.
import { hostname } from 'node:os'
import { monotonicClock, systemClock } from '../../src/lib/util/time.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { systemTimer } from '../../src/lib/util/time.ts'
import { openFsDirectory } from '../../src/server/gateway/fs-directory.ts'
import { answerQuestions } from '../child-messages.ts'
import { defaultBounds } from '../../test/helpers/bounds.ts'

const [instancesDir] = process.argv.slice(2)
const directory =
  instancesDir === undefined
    ? null
    : await openFsDirectory({
        instancesDir,
        hostname: hostname(),
        clock: systemClock,
        ticks: monotonicClock,
        timer: systemTimer,
        limits: defaultBounds,
        log: silentLogger,
      })

answerQuestions({
  live: () => directory?.entries.filter(({ verdict }) => verdict.health === 'live').length ?? 0,
})
