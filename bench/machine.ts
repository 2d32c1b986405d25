import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { readCpuMs, readFileLimit } from './cpu.ts'

/** What the figures depend on, without date or name of the machine. */
export function describeMachine(): string {
  const [first] = cpus()
  const memory = Math.round(totalmem() / 1024 ** 3)
  const { node, v8 } = process.versions
  const cpuSource =
    readCpuMs(process.pid) === undefined
      ? 'process.cpuUsage() asked of each server'
      : 'scheduler statistics of all threads of each server, read from outside'
  return [
    `${availableParallelism()} x ${first?.model.trim() ?? 'unknown processor'}, ${memory} GiB`,
    `${type()} ${release()}, Node ${node}, V8 ${v8}`,
    `open files: ${readFileLimit() ?? 'unknown'}; CPU time from ${cpuSource}`,
  ].join('\n')
}
