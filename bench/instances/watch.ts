// A process that follows a folder of instance records as a gateway does; without one it is idle.
import { silentLogger } from '../../src/lib/util/logger.ts'
import { LocalDirectory } from '../../src/server/gateway/local-directory.ts'
import { answerQuestions } from '../child-messages.ts'

const [instancesDir] = process.argv.slice(2)
const directory =
  instancesDir === undefined ? null : await LocalDirectory.open({ instancesDir, log: silentLogger })

answerQuestions({
  live: () => directory?.entries.filter(({ verdict }) => verdict.health === 'live').length ?? 0,
})
