import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { exitOf, startProgram, textOf } from '../helpers/program.ts'
import { makeRecord } from '../server/gateway/support.ts'
import { until } from '../helpers/until.ts'

describe('a signal before the program listens', () => {
  let folder: string
  let instances: string
  const placed = new Set<string>()

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stop-early-'))
    instances = join(folder, 'instances')
    await mkdir(instances, { mode: 0o700 })
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  /** Records of a process that is gone: clearing them up takes the start a while. */
  async function placeLeftovers(count: number): Promise<void> {
    const { pid } = spawnSync(process.execPath, ['--version'])
    // Nobody who gets the number again started then.
    const owner = { pid, pid_start: '1', hostname: hostname() }
    for (let number = 0; number < count; number++) {
      const id = randomUUID()
      placed.add(`${id}.json`)
      const path = join(instances, `${id}.json`)
      await writeFile(path, JSON.stringify(makeRecord({ ...owner, instance_id: id })))
      // Young ones stay.
      await utimes(path, 1000, 1000)
    }
  }

  it('ends it with 0, unannounced and without a trace', async function () {
    this.timeout(120_000)
    // How long the start takes is the machine's affair: more records until the signal is early.
    let run = await stopEarly(1500)
    for (let count = 3000; run.stdout !== '' && count <= 24_000; count *= 2) {
      run = await stopEarly(count)
    }
    const { code, stdout, stderr } = run
    expect(code, stderr).to.equal(0)
    expect(stdout).to.equal('')
    expect(stderr)
      .to.contain('stopping')
      .and.not.match(/"level":"error"|\n\s+at /)
    // What it had not cleared up yet is left for the next start.
    expect((await readdir(instances)).filter(name => !placed.has(name))).to.deep.equal([])
  })

  /** Starts the program with so much to clear up, and tells it to stop as soon as it has begun. */
  async function stopEarly(leftovers: number) {
    await placeLeftovers(leftovers)
    const child = startProgram(['serve', '--port', '0', '--json', '--registry-dir', folder])
    const texts = Promise.all([textOf(child.stdout), textOf(child.stderr)])
    const begun = async () => (await readdir(instances)).length < leftovers
    await until(begun, 'the start has begun', 30_000)
    child.kill('SIGTERM')
    const code = await exitOf(child)
    const [stdout, stderr] = await texts
    return { code, stdout, stderr }
  }
})
