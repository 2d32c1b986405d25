/**
 * Preloaded into every process alike (`node --import`): says what the process uses when the
 * benchmark asks, and ends with it. So no server needs a flag or a route for it.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

process.on('message', async question => {
  process.send?.(question === 'cpuMs' ? cpuMs() : await residentBytes())
})
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function residentBytes(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  for (let i = 0; i < 4; i++) {
    collect()
    await new Promise(resolve => setImmediate(resolve))
  }
  return process.memoryUsage.rss()
}
