import { expect } from 'chai'
import fc from 'fast-check'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import { RawSession } from '../helpers/mcp.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { launch, needPython, python, type PythonApp, pythonEnv } from './python-driver.ts'

describe('the Python link beside a real serve', () => {
  let registryDir: string
  let server: RunningServe
  let app: PythonApp

  before(async function () {
    needPython.call(this)
    registryDir = newFolder()
    server = await serveInProcess({ registryDir })
    app = launch()
    await app.link({ registry_dir: registryDir })
    await app.untilState('connected')
  })

  it('brings scene, audit, events and artefact to the readers', async () => {
    await app.call('set_scene', { frame: 24 })
    const outcome = { error: { message: 'disk full' } }
    const record = { action: 'file.save', outcome, params: { path: '/a' }, duration_ms: 1.5 }
    await app.named('record', record)
    await app.named('open_events', { session_id: 'console', maxlen: 2, max_message_bytes: 64 })
    for (const message of ['one', 'two', 'three']) {
      const beside = { job_id: 'j1', metadata: { n: 1 } }
      await app.named('log', { message, session_id: 'console', source: 'test', ...beside })
    }
    await app.named('put_artefact', {
      data_size: 3_000_000,
      mime: 'image/png',
      display_name: 'still.png',
      metadata: { frame: 24 },
      expires_at: Date.now() / 1000 + 3600,
    })
    expect((await app.call('flush', 5)).result).to.equal(true)
    expect((await app.status()).lastError).to.equal(null)
    const scene = await read('scene://current')
    expect(JSON.stringify(scene)).to.contain('"frame":24')
    const [entry] = (await read('audit://recent')).entries
    expect(entry).to.deep.include(record)
    const { events } = await read('events://session/console?cursor=0')
    expect(events.map((event: any) => event.message)).to.deep.equal(['two', 'three'])
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251))
    const hash = createHash('sha256').update(bytes).digest('hex')
    const [upload] = await app.get('uploads')
    expect(upload).to.deep.equal({ done: true, uri: `artefact://sha256/${hash}`, error: null })
  })

  it('answers the readers of its own scheme, and says what goes wrong', async () => {
    await app.call('register', 'thing', [{ uri: 'thing://one', name: 'one' }])
    await app.call('flush', 5)
    const listed = (await ask('resources/list')).result.resources
    expect(listed.map((each: any) => each.uri)).to.include('thing://one')
    const { contents } = (await ask('resources/read', { uri: 'thing://one' })).result
    expect(contents[0]).to.deep.include({ uri: 'thing://one', text: 'read one' })
    const error = async (uri: string) => (await ask('resources/read', { uri })).error
    expect((await error('thing://missing')).code).to.equal(-32002)
    expect((await error('thing://modal')).data.reason).to.equal('host_busy')
    expect((await error('thing://broken')).data.reason).to.equal('host_failed')
    await app.call('register', 'thing')
    await app.call('flush', 5)
    expect(JSON.stringify(await ask('resources/list'))).not.to.contain('thing://')
  })

  it('shows readers each scene as it was set', async () => {
    const object = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'ü', 'e'), x: fc.nat(2) })
    const objects = fc.uniqueArray(object, { selector: ({ id }) => id })
    const members = fc.dictionary(fc.constantFrom('frame', 'mode', '__proto__', 'ß'), fc.nat(3))
    const note = 'x'.repeat(2000)
    const scenes = fc
      .tuple(members, objects)
      .map(([others, list]) => ({ ...others, note, objects: list }))
    for (const next of fc.sample(scenes, { numRuns: 30, seed: 7 })) {
      await app.call('set_scene', next)
      expect((await app.call('flush', 5)).result).to.equal(true)
      expect(await read('scene://current')).to.deep.equal(next)
    }
  })

  it('shows that another application has the server', async () => {
    const given = { url: server.hostUrl, token: server.token }
    const ways = [
      { args: given, says: 'taken: another application is connected: workshop' },
      { args: { registry_dir: registryDir }, says: 'Taken: another application' },
    ]
    for (const { args, says } of ways) {
      const second = launch()
      await second.link(args)
      await until(async () => (await second.status()).text.includes(says), says)
      const [title] = (await second.tell({ words: true })).result
      expect(title).to.equal('Server taken')
    }
  })

  it('loses no note that was made while the server was away', async () => {
    const before = (await app.get('kept')).length
    await server.stop()
    await app.tell({ call: 'add_note', args: ['Made meanwhile'] })
    server = await serveInProcess({ registryDir })
    await until(async () => (await app.get('kept')).length > before, 'the answer', 25_000)
    expect((await app.get('kept')).at(-1).error).to.equal(null)
    const { notes } = await read('notes://open')
    expect(notes.map((each: any) => each.text)).to.deep.equal(['Made meanwhile'])
  })

  it('runs the example of its README', async () => {
    const readme = new URL('../../adapters/python/README.md', import.meta.url)
    const code = /```python\n([^]*?)```/.exec(await readFile(readme, 'utf8'))?.[1] ?? ''
    expect(code.split('\n').length).to.be.lessThan(30)
    await app.call('stop')
    server = await serveInProcess()
    const script = join(registryDir, 'example.py')
    await writeFile(script, code)
    const env = { ...pythonEnv, SERVICE_HOST_URL: server.hostUrl, SERVICE_HOST_TOKEN: server.token }
    const child = spawn(python, [script], { env, stdio: 'inherit' })
    try {
      await until(async () => {
        const { result } = await ask('resources/read', { uri: 'tool://hammer' })
        return result?.contents[0].text === '{"weight": 0.8}'
      }, 'the answer of the example')
      expect(JSON.stringify(await read('scene://current'))).to.contain('hammer')
    } finally {
      child.kill('SIGKILL')
    }
  })

  /** Each time anew: the server is started again here. */
  async function ask(method: string, params: object = {}): Promise<any> {
    return (await RawSession.open(server.url)).call(method, params)
  }

  async function read(uri: string): Promise<any> {
    return (await RawSession.open(server.url)).readJson(uri)
  }
})
