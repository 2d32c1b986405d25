import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { buildIfStale, exitOf, startProgram, textOf } from '../helpers/program.ts'
import { until } from './until.ts'

describe('a signal before the program listens', () => {
  const leftovers = 1500
  let folder: string
  let instances: string

  before(buildIfStale)
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stop-early-'))
    instances = join(folder, 'instances')
    await mkdir(instances, { mode: 0o700 })
    await placeLeftovers()
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  /** Records of a process that is gone: clearing them up takes the start a while. */
  async function placeLeftovers(): Promise<void> {
    const { pid } = spawnSync(process.execPath, ['--version'])
    const owner = { schema_version: 1, pid, pid_start: null, hostname: hostname() }
    for (let number = 0; number < leftovers; number++) {
      const id = randomUUID()
      await writeFile(join(instances, `${id}.json`), JSON.stringify({ ...owner, instance_id: id }))
    }
  }

  it('ends it with 0, unannounced and without a trace', async () => {
    const child = startProgram(['serve', '--port', '0', '--json', '--registry-dir', folder])
    const texts = Promise.all([textOf(child.stdout), textOf(child.stderr)])
    await until(async () => (await readdir(instances)).length < leftovers, 'the start has begun')
    child.kill('SIGTERM')
    const code = await exitOf(child)
    const [stdout, stderr] = await texts
    expect(code, stderr).to.equal(0)
    expect(stdout).to.equal('')
    expect(stderr)
      .to.contain('stopping')
      .and.not.match(/"level":"error"|\n\s+at /)
    expect(await readdir(instances)).to.deep.equal([])
  })
})
