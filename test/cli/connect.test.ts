import { expect } from 'chai'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type EndpointFlags, findEndpoint } from '../../src/commands/find-endpoint.ts'
import { silentLogger as log } from '../../src/lib/util/logger.ts'
import type { ServiceError } from '../../src/lib/util/errors.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { failureOf } from '../helpers/failure.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import { makeRecord } from '../server/gateway/support.ts'

const naming = 'service-cli connect ID, or all of them: service-cli connect gateway'

describe('service-cli connect', () => {
  let dir: string
  let count = 0
  beforeEach(async () => {
    count = 0
    dir = newFolder()
    await mkdir(join(dir, 'instances'), { mode: 0o700 })
  })

  async function instance(more: object = {}): Promise<string> {
    const id = `0000000${count++}-aaaa-4000-8000-000000000000`
    const url = `http://127.0.0.1:${9000 + count}`
    const record = makeRecord({
      instance_id: id,
      display_name: 'Shot 7',
      mcp_url: `${url}/mcp`,
      host_url: `${url}/host`,
      scene: '/shots/a.blend',
      ...more,
    })
    await writeFile(join(dir, 'instances', `${id}.json`), JSON.stringify(record))
    return id
  }

  const read = (word?: string, flags: Partial<EndpointFlags> = {}, env: NodeJS.ProcessEnv = {}) =>
    findEndpoint(word, { 'allow-http': false, 'registry-dir': dir, ...flags }, env, { log, naming })

  async function refused(...args: Parameters<typeof read>): Promise<[number, ServiceError]> {
    const error = await failureOf(() => read(...args))
    return [error.oclif.exit, error]
  }

  async function urlOf(...args: Parameters<typeof read>): Promise<string> {
    const place = await (await read(...args)).locate()
    return place.ok ? place.value.url.href : place.failure
  }

  it('takes the only instance, one by its kind, one by its id', async () => {
    const id = await instance()
    expect(await urlOf()).to.equal('http://127.0.0.1:9001/mcp')
    await instance({ dcc_type: 'maya' })
    expect(await urlOf('maya')).to.equal('http://127.0.0.1:9002/mcp')
    expect(await urlOf(id.slice(0, 8))).to.equal('http://127.0.0.1:9001/mcp')
  })

  it('lists the instances when it is unclear which is meant', async () => {
    await instance()
    await instance({ dcc_type: 'maya', display_name: 'rig\u001b[31m', scene: null })
    const rows = /\n00000000 +blender +Shot 7 +\/shots\/a\.blend\n00000001 +maya +rig +-$/
    for (const word of [undefined, '0000']) {
      const [code, { message, hint }] = await refused(word)
      expect(code).to.equal(2)
      expect(message).to.contain('2 instances are running').and.match(rows)
      expect(hint).to.contain('connect ID')
      expect(hint).to.contain('all of them: service-cli connect gateway')
    }
  })

  it('says when nothing runs, or nothing of that name', async () => {
    const [none, { hint }] = await refused()
    expect(none).to.equal(5)
    expect(hint).to.contain('service-cli serve')
    await instance()
    const [other, { message }] = await refused('houdini')
    expect(other).to.equal(5)
    expect(message).to.contain('found no running instance "houdini"').and.contain('Shot 7')
  })

  it('passes over an instance that has given no heartbeat for a minute', async () => {
    const id = await instance()
    const old = new Date(Date.now() - 60_000)
    await utimes(join(dir, 'instances', `${id}.json`), old, old)
    const [code, { message, hint }] = await refused()
    expect([code, message]).to.deep.equal([5, 'found no running service-cli serve of yours'])
    expect(hint).to.contain('doctor')
    await instance()
    expect(await urlOf()).to.equal('http://127.0.0.1:9002/mcp')
  })

  it('goes to no instance of another machine, which shares the state directory', async () => {
    const id = await instance({ hostname: 'elsewhere' })
    expect((await refused())[0]).to.equal(5)
    expect((await refused(id))[0]).to.equal(5)
  })

  const wrong: [word: string, text: string][] = [
    ['', 'empty'],
    ['http://', 'not an http or https URL'],
    ['http://u:p@127.0.0.1/mcp', 'must not contain'],
  ]
  for (const [word, text] of wrong) {
    it(`refuses "${word}"`, async () => {
      await instance()
      const [code, error] = await refused(word)
      expect(code).to.equal(2)
      expect(error.message).to.contain(text)
      expect(error.message).to.not.contain('u:p')
    })
  }

  const key = { SERVICE_MCP_API_KEY: 'k'.repeat(40) }
  const open = { 'allow-http': true }
  const exposed: [url: string, env: NodeJS.ProcessEnv, flags: typeof open | {}, ok: boolean][] = [
    ['http://studio.example/mcp', key, {}, false],
    ['http://10.0.0.7:8765/mcp', key, {}, false],
    ['http://studio.example/mcp', key, open, true],
    ['http://studio.example/mcp', {}, {}, true],
    ['https://studio.example/mcp', key, {}, true],
    ['http://[::1]:8765/mcp', key, {}, true],
  ]
  for (const [url, env, flags, good] of exposed) {
    const how = `${'SERVICE_MCP_API_KEY' in env ? 'with' : 'without'} a key ${JSON.stringify(flags)}`
    it(`${good ? 'goes' : 'does not go'} to ${url} ${how}`, async () => {
      if (good) return expect(await urlOf(url, flags, env)).to.equal(url)
      const [code, error] = await refused(url, flags, env)
      expect(code).to.equal(2)
      expect(error.hint).to.contain('--allow-http')
      return expect(error.message).to.not.contain('kkkk')
    })
  }

  it('names a proxy variable that cannot be used', async () => {
    const [code, { message }] = await refused('https://x.invalid/mcp', {}, { HTTPS_PROXY: 'x:1' })
    expect(code).to.equal(2)
    expect(message).to.equal('HTTPS_PROXY is not the address of an HTTP proxy')
  })

  it('refuses --json: stdout is the protocol’s', async () => {
    for (const words of ['connect --json', '--json serve --stdio']) {
      const env = cleanEnv({ SERVICE_REGISTRY_DIR: dir })
      const { code, stdout } = await runCommand(words.split(' '), { env })
      expect(code).to.equal(2)
      expect(stdout).to.contain('--json cannot be used')
    }
  })
})
