/**
 * Preloaded into every server alike (`node --import`): collects garbage when the benchmark asks
 * and says what the process uses. So memory is read in the same way of each, no server needs a
 * flag or a route for it, and none outlives the benchmark.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { answerQuestions } from '../child-messages.ts'

answerQuestions({
  usage: () => {
    const { user, system } = process.cpuUsage()
    return { cpuMs: (user + system) / 1000 }
  },
  memory: async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    for (let i = 0; i < 4; i++) {
      collect()
      await new Promise(resolve => setImmediate(resolve))
    }
    const { rss, heapUsed, external } = process.memoryUsage()
    return { rss, heapUsed, external }
  },
})
process.channel?.unref()
