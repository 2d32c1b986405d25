import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { isRunning, processStart, processStat } from '../../../src/lib/instances/process.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { until } from '../../helpers/until.ts'

describe('process start', () => {
  it('is the same each time, differs between processes, null for the dead', function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    expect(processStart(process.pid)).to.equal(processStart(process.pid))
    expect(processStart(process.pid)).to.match(/^\d+$/)
    expect(processStart(2 ** 30)).to.equal(null)
    expect(isRunning(2 ** 30)).to.equal(false)
  })
})

describe('isRunning', () => {
  it('does not take a zombie for running', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    // The shell becomes a program that never asks what became of its child.
    const parent = spawn('sh', ['-c', 'sleep 1 & echo $!; exec sleep 60'])
    const exited = once(parent, 'exit')
    try {
      const [line] = await once(parent.stdout, 'data')
      const pid = Number(String(line))
      await until(() => processStat(pid)?.ended === true, 'the end of the child')
      expect(process.kill(pid, 0), 'its pid is still taken').to.equal(true)
      expect(isRunning(pid)).to.equal(false)
      expect(isRunning(parent.pid ?? 0)).to.equal(true)
    } finally {
      parent.kill('SIGKILL')
      await exited
    }
  })
})
