/**
 * Preloaded into every process alike (`node --import`): collects garbage when the benchmark asks and
 * says what the process uses. So no server needs a flag or a route for it.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { answerQuestions } from '../child.ts'

answerQuestions({
  /** Of all its threads, in milliseconds. */
  cpuMs: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  residentBytes: async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    for (let i = 0; i < 4; i++) {
      collect()
      await new Promise(resolve => setImmediate(resolve))
    }
    return process.memoryUsage.rss()
  },
})
process.channel?.unref()
