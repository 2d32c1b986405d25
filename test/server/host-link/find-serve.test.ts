import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type FindServeOptions, findServe } from '../../../src/lib/host-link/find-serve.ts'
import { HostClient } from '../../../src/lib/host-link/host-client.ts'
import { Bench } from './bench.ts'
import { makeRecord } from '../gateway/support.ts'
import { within } from './scripted-server.ts'

describe('findServe', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'find-serve-'))
    await mkdir(join(dir, 'instances'), { mode: 0o700 })
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  async function record(name: string, more: object = {}, ageMs = 0): Promise<void> {
    const token = join(dir, 'instances', `${name}.token`)
    await writeFile(token, `token-of-${name}`, { mode: 0o600 })
    const members = {
      ...makeRecord({ instance_id: name }),
      host_url: `http://127.0.0.1:8765/${name}`,
      host_token_file: token,
      host: { connected: false },
      ...more,
    }
    await write(name, JSON.stringify(members), ageMs)
  }

  async function write(name: string, text: string, ageMs = 0): Promise<void> {
    const path = join(dir, 'instances', `${name}.json`)
    await writeFile(path, text)
    const at = new Date(Date.now() - ageMs)
    await utimes(path, at, at)
  }

  async function found(more: Partial<FindServeOptions> = {}) {
    const address = await findServe({ dccType: 'blender', registryDir: dir, env: {}, ...more })
    return address && [address.url, address.token.reveal(), address.explicit]
  }
  const of = (name: string) => [`ws://127.0.0.1:8765/${name}`, `token-of-${name}`, false]

  it('takes the newest record of the application’s kind, else of an unknown one', async () => {
    expect(await found()).to.equal(null)
    await record('other', { dcc_type: 'maya' })
    expect(await found()).to.equal(null)
    await record('any', { dcc_type: 'unknown' })
    expect(await found()).to.deep.equal(of('any'))
    await record('older', {}, 20_000)
    expect(await found()).to.deep.equal(of('older'))
    await record('newer', {}, 10_000)
    expect(await found()).to.deep.equal(of('newer'))
  })

  it('passes over the server of a process that has ended', async () => {
    await record('next', { dcc_type: 'unknown' })
    const { pid } = spawnSync('true')
    await record('killed', { hostname: hostname(), pid, pid_start: null })
    expect(await found()).to.deep.equal(of('next'))
  })

  const skipped: [name: string, record: object, ageMs?: number][] = [
    ['no server touches any more', {}, 31_000],
    ['another application is linked to', { host: { connected: true } }],
    ['is of another machine', { host_url: 'http://192.0.2.1:8765/host' }],
    ['has a url that is none', { host_url: 7 }],
    ['has no token', { host_token_file: null }],
    ['has a token file that is not there', { host_token_file: '/nowhere/at/all' }],
  ]
  for (const [name, members, ageMs] of skipped) {
    it(`passes over a record that ${name}`, async () => {
      await record('bad', members, ageMs)
      expect(await found()).to.equal(null)
      await record('good', {}, 25_000)
      expect(await found()).to.deep.equal(of('good'))
    })
  }

  it('passes over what is no record', async () => {
    await write('half', '{"dcc_type":')
    await write('list', '[]')
    await record('large', { metadata: { text: 'x'.repeat(70_000) } })
    await mkdir(join(dir, 'instances', 'folder.json'))
    await record('good', {}, 25_000)
    expect(await found()).to.deep.equal(of('good'))
  })

  it('takes the one it was linked to before although its record still says so', async () => {
    await record('mine', { host: { connected: true } })
    expect(await found({ known: 'ws://127.0.0.1:8765/mine' })).to.deep.equal(of('mine'))
  })

  it('takes the environment before all records, when both variables are set', async () => {
    await record('good')
    const url = 'http://127.0.0.1:9000/host'
    expect(await found({ env: { SERVICE_HOST_URL: url } })).to.deep.equal(of('good'))
    const env = { SERVICE_HOST_URL: url, SERVICE_HOST_TOKEN: 'from-env' }
    expect(await found({ env })).to.deep.equal(['ws://127.0.0.1:9000/host', 'from-env', true])
  })

  it('takes the token of the environment for a server that has it from there', async () => {
    await record('env', { host_token_file: null })
    const env = { SERVICE_HOST_TOKEN: 'from-env', SERVICE_REGISTRY_DIR: dir }
    const expected = ['ws://127.0.0.1:8765/env', 'from-env', true]
    expect(await found({ env, registryDir: undefined })).to.deep.equal(expected)
  })

  describe('where files have owners and modes', () => {
    before(function () {
      if (process.getuid === undefined) this.skip()
    })

    it('uses no folder that others can write', async () => {
      await record('good')
      for (const folder of [dir, join(dir, 'instances')]) {
        await chmod(folder, 0o770)
        expect(await found(), folder).to.equal(null)
        await chmod(folder, 0o700)
      }
      expect(await found()).to.deep.equal(of('good'))
    })

    it('uses no folder behind a symbolic link, and no such record', async () => {
      await record('good')
      const instances = join(dir, 'instances')
      await rename(join(instances, 'good.json'), join(dir, 'good.json'))
      await symlink(join(dir, 'good.json'), join(instances, 'good.json'))
      expect(await found()).to.equal(null)
      await rename(join(dir, 'good.json'), join(instances, 'good.json'))
      expect(await found()).to.deep.equal(of('good'))
      await rename(instances, join(dir, 'elsewhere'))
      await symlink(join(dir, 'elsewhere'), instances)
      expect(await found()).to.equal(null)
    })

    it('uses no token that others can read', async () => {
      await record('good')
      await chmod(join(dir, 'instances', 'good.token'), 0o644)
      expect(await found()).to.equal(null)
    })
  })

  it('lets a client follow a server that comes later, with another token', async () => {
    const bench = new Bench()
    try {
      const options = { dccType: 'blender', mode: 'gui', registryDir: dir } as const
      const host = bench.keep(HostClient.find(options))
      host.start()
      const first = await bench.serve()
      await record('first', { host_url: first.url })
      await within(host.connected(), 'the first server')
      await first.kill()
      await rm(join(dir, 'instances', 'first.json'))
      let refusals = 0
      const second = await bench.serve({ refuse: () => (refusals++ === 0 ? 401 : null) })
      await record('second', { host_url: second.url })
      await second.peer()
      const tokens = second.headers.map(({ authorization }) => authorization)
      expect(tokens).to.deep.equal(['Bearer token-of-second', 'Bearer token-of-second'])
    } finally {
      await bench.end()
    }
  })
})
