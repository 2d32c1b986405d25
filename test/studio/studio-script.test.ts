import { expect } from 'chai'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cleanEnv, exitOf, root, runProgram } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'

describe('scripts/studio.sh', () => {
  let folder: string
  let script: ChildProcess | undefined
  let said = ''
  before(async function () {
    const versions = await readdir('/usr/lib/postgresql').catch(() => [])
    if (versions.length === 0) skipBecause(this, 'PostgreSQL is not installed')
    folder = await mkdtemp(join(tmpdir(), 'studio-script-'))
  })
  after(async () => {
    script?.kill('SIGTERM')
    if (script !== undefined) await exitOf(script)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  async function start(): Promise<string> {
    said = ''
    // The Node of the project.
    const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
    const child = spawn('scripts/studio.sh', [folder], { cwd: root, env: cleanEnv({ PATH }) })
    script = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    }
    await until(() => said.includes('Ctrl-C ends all') || child.exitCode !== null, 'the studio')
    const url = /Its clients connect to (\S+)/.exec(said)?.[1]
    if (url === undefined) throw new Error(said)
    return url
  }
  async function stop(): Promise<void> {
    script?.kill('SIGTERM')
    expect(script === undefined ? null : await exitOf(script), said).to.equal(0)
    script = undefined
  }
  const read = async (url: string, uri: string) => {
    const key = readFileSync(join(folder, 'gateway.key'), 'utf8').trim()
    const env = cleanEnv({ HOME: folder, SERVICE_MCP_API_KEY: key })
    return (await runProgram(['resources', 'read', uri, '--url', url], { env })).stdout
  }
  /** The instance, once it has joined. */
  async function instanceAt(url: string) {
    const list = async () => JSON.parse(await read(url, 'gateway://instances')).instances
    await until(async () => (await list())[0]?.health === 'live', 'the instance')
    return (await list())[0]
  }

  it('runs a studio whose instance is read at the gateway, and ends all of it', async function () {
    this.timeout(120_000)
    const url = await start()
    const instance = await instanceAt(url)
    expect(instance.joined).to.include({ owner: 'artist', name: 'workstation' })
    const uri = `instance://${instance.instance_id}/scene/current`
    expect(await read(url, uri)).to.contain('Cube')
    writeFileSync(join(folder, 'scene.json'), '{"objects":[{"id":"Sphere"}]}')
    await until(async () => (await read(url, uri)).includes('Sphere'), 'the change')
    expect(said).to.not.contain(readFileSync(join(folder, 'join.token'), 'utf8').trim())
    await stop()
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).to.equal(false)
    const gone = await fetch(url).catch(() => null)
    expect(gone).to.equal(null)

    // With the data of the first run.
    expect((await instanceAt(await start())).joined).to.include({ owner: 'artist' })
    await stop()
  })
})
