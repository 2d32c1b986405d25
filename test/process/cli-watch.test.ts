import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  events,
  handshake,
  json as answer,
  result,
  useBridges,
} from '../server/mcp-client/bridge/bench.ts'
import { type ForeignServer, noteUri, startForeign } from './foreign-server.ts'
import { runCommand } from '../helpers/in-process.ts'
import { exitOf, startProgram } from '../helpers/program.ts'
import { until } from '../helpers/until.ts'
import { follow } from './follow.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

describe('service-cli resources watch', () => {
  let registryDir: string
  let serve: RunningServe
  const folder = () => `--registry-dir=${registryDir}`
  const start = () => serveInProcess({ registryDir, flags: ['--dcc-type=maya'] })

  // Tests that end the server leave another one behind.
  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'cli-watch-'))
    serve = await start()
  })
  after(async () => {
    await serve?.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  describe('of a server with members of any type', () => {
    const { scripted } = useBridges()
    // `String` throws for it.
    const hostile = { toString: 0, valueOf: 0 }
    /** Watches a resource that stays the same. */
    const watch = async (uri: string, content: object) => {
      const server = await scripted((seen, res) => {
        if (seen.method === 'GET') return void events(res)
        if (handshake(seen, res)) return
        const { id, method } = seen.body
        const isRead = method === 'resources/read'
        answer(res, result(id, isRead ? { contents: [{ uri, ...content }] } : {}))
      })
      return follow(['resources', 'watch', uri, `--url=${server.url}`])
    }

    it('writes the events', async () => {
      const appended = ['source', 'stream', 'level', 'message'].map((name, at) => ({
        id: at + 1,
        timestamp: hostile,
        message: 'hello',
        [name]: hostile,
      }))
      const page = { events: appended, newest_cursor: 4, next_cursor: 4 }
      const { lines, child } = await watch('events://session/a', { text: JSON.stringify(page) })
      await until(() => lines().length === 5, 'the events')
      expect(lines()[1]).to.match(/^--:--:-- {2}- .*\{"toString":0.*hello$/)
      child.kill()
    })

    it('writes what the resource is', async () => {
      const application = { connected: false, since: hostile }
      const _meta = { 'service-cli/scene': { application } }
      const content = { text: '{"a":1}', mimeType: 'application/json', _meta }
      const { lines, child } = await watch('state://a', content)
      await until(() => lines().length > 0, 'the first line')
      expect(lines().join('\n')).to.include('the application is gone')
      child.kill()
    })
  })

  for (const json of [false, true]) {
    it(`watches events by cursor, over a restart of the server${json ? ', as JSON' : ''}`, async () => {
      const session = json ? 'json' : 'text'
      const append = (...messages: string[]) =>
        serve.post(`events/${session}`, {
          events: messages.map(message => ({ source: 'bpy', stream: 'stdout', message })),
        })
      await append(...Array.from({ length: 12 }, (_, at) => `old ${at}`))
      const uri = `events://session/${session}`
      const watch = follow(['resources', 'watch', uri, folder(), ...(json ? ['--json'] : [])])
      const messages = () =>
        json
          ? watch.json().flatMap(({ events = [] }) => events.map(({ message }: any) => message))
          : watch.lines().flatMap(line => /info {5}bpy\/stdout {2}(.*)/.exec(line)?.[1] ?? [])
      const old = Array.from({ length: 10 }, (_, at) => `old ${at + 2}`)
      await until(() => messages().length === 10, 'the last events')
      expect(messages()).to.deep.equal(old)
      await append('new')
      await until(() => messages().length === 11, 'the new event')
      await serve.stop()
      serve = await start()
      await append('after the restart')
      await until(() => messages().length === 12, 'the event after the restart')
      expect(messages()).to.deep.equal([...old, 'new', 'after the restart'])
      expect(watch.lines().join()).to.contain('events are missing')
      watch.child.kill('SIGINT')
      expect(await exitOf(watch.child)).to.equal(0)
    })
  }

  it('watches a scene that changes a hundred times a second, and loses no change', async () => {
    await serve.post('scene', { frame: 0 })
    const watch = follow(['resources', 'watch', 'scene://current', folder()])
    await until(() => watch.lines().length === 1, 'the first line')
    const frame = 200
    for (let number = 1; number <= frame; number++) {
      await serve.post('scene', { frame: number })
      await delay(6)
    }
    await until(() => watch.lines().at(-1)?.endsWith(`→ ${frame}`) === true, 'the last change')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    const heads = watch.lines().filter(line => /^\d\d:\d\d:\d\d {2}revision/.test(line))
    expect(heads.length).to.be.at.least(2).and.below(frame)
    // Each shows how it goes on from the one before.
    const steps = watch.lines().flatMap(line => /- frame (\d+) → (\d+)$/.exec(line)?.slice(1) ?? [])
    const froms = steps.filter((_, at) => at % 2 === 0)
    const tos = steps.filter((_, at) => at % 2 === 1)
    expect(froms).to.deep.equal(['0', ...tos.slice(0, -1)])
  })

  it('prints one line for a burst with --settle, relative to the line before', async () => {
    await serve.post('scene', { frame: 0 })
    const words = ['resources', 'watch', 'scene://current', '--json', '--settle=1s', folder()]
    const watch = follow(words)
    await until(() => watch.lines().length === 1, 'the first line')
    for (let frame = 1; frame <= 10; frame++) await serve.post('scene', { frame })
    await until(() => watch.lines().length === 2, 'the line of the burst')
    await serve.post('scene', { frame: 11 })
    await until(() => watch.lines().length === 3, 'the line of one change')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    const steps = watch.json().flatMap(({ changes }) => changes ?? [])
    expect(steps.map(({ before, after }) => [before, after])).to.deep.equal([
      [0, 10],
      [10, 11],
    ])
    expect(watch.json().at(-1).lines[1]).to.equal('- frame 10 → 11')
  })

  it('prints only the changes of the part of the scene that the URI names', async () => {
    await serve.post('scene', { frame: 0, render: { width: 1 } })
    const watch = follow([
      'resources',
      'watch',
      'scene://current?pointer=/render',
      '--json',
      folder(),
    ])
    await until(() => watch.lines().length === 1, 'the first line')
    await serve.post('scene', { frame: 1, render: { width: 1 } })
    await serve.post('scene', { frame: 1, render: { width: 2 } })
    await until(() => watch.lines().length === 2, 'the change')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    expect(watch.json()[1].changes).to.deep.equal([
      { path: '/value/width', kind: 'changed', before: 1, after: 2 },
    ])
  })

  it('prints the new entries of the audit, and how many came and were pushed out between two reads', async () => {
    const post = (action: string) => serve.post('audit', { records: [{ action }] })
    for (let n = 0; n < 60; n++) await post(`step.${n}`)
    const watch = follow(['resources', 'watch', 'audit://recent', '--json', folder()])
    const screen = follow(['resources', 'watch', 'audit://recent', folder()])
    await until(() => watch.lines().length === 1 && screen.lines().length === 1, 'the first lines')
    await post('step.last')
    await until(() => watch.lines().length === 2 && screen.lines().length > 1, 'the change')
    await serve.post('audit', { records: Array(90).fill({ action: 'burst' }) })
    await until(() => watch.lines().length === 3 && screen.lines().length > 3, 'the burst')
    for (const { child } of [watch, screen]) {
      child.kill('SIGINT')
      expect(await exitOf(child)).to.equal(0)
    }
    // Nothing of the entries that the new ones push out.
    const { entries } = watch.json()[1]
    expect(entries.map(({ action }: any) => action)).to.deep.equal(['step.last'])
    expect(screen.lines()[1]).to.contain('step.last')
    const burst = watch.json()[2]
    expect([burst.missed, burst.entries.length]).to.deep.equal([40, 50])
    expect(screen.lines()[2]).to.contain('… 40 earlier entries left out')
  })

  it('ends quietly when nobody reads any more', async () => {
    const watch = startProgram(['resources', 'watch', 'scene://current', folder()])
    if (watch.stdout === null) throw new Error('no stdout')
    await once(watch.stdout, 'data')
    let stderr = ''
    watch.stderr?.on('data', chunk => (stderr += String(chunk)))
    watch.stdout.destroy()
    const exited = exitOf(watch)
    let over = false
    void exited.then(() => (over = true))
    for (let frame = 0; !over && frame < 2000; frame++) {
      await serve.post('scene', { frame })
      await delay(10)
    }
    expect([await exited, stderr]).to.deep.equal([0, ''])
  })

  it('refuses a --settle that is not a time, and one for a resource that is polled', async () => {
    for (const time of ['2', '99ms', '61s', '1m']) {
      const args = ['resources', 'watch', 'scene://current', `--settle=${time}`, folder()]
      const refused = await runCommand(args)
      expect(refused.code).to.equal(2)
      expect(refused.stderr).to.contain(`--settle ${time} is not a time from 100ms to 60s`)
    }
    const polled = ['resources', 'watch', 'events://session/a', '--settle=1s', folder()]
    expect((await runCommand(polled)).code).to.equal(2)
  })

  it('refuses to watch what is not there, and warns of what is never announced', async () => {
    const missing = await runCommand(['resources', 'watch', 'audit://recnt', folder()])
    expect([missing.code, missing.stdout]).to.deep.equal([3, ''])
    const events = await runCommand(['resources', 'watch', 'events://session/nosuch', folder()])
    expect(events.code).to.equal(3)
    expect(events.stderr).to.contain('resource events://session/nosuch not found')
    const hex = await serve.store('bytes')
    const watch = startProgram(['resources', 'watch', `artefact://sha256/${hex}`, folder()])
    let stderr = ''
    watch.stderr?.on('data', chunk => (stderr += String(chunk)))
    await until(() => stderr.includes('never announce'), 'the warning')
    watch.kill('SIGINT')
    expect(await exitOf(watch)).to.equal(0)
  })

  for (const transport of ['sessions', 'stateless'] as const) {
    it(`watches a text of a foreign server of ${transport}`, async () => {
      const foreign: ForeignServer = await startForeign(transport)
      const watch = follow(['resources', 'watch', noteUri, `--url=${foreign.url.href}`])
      try {
        await until(() => watch.lines().length === 1, 'the first line')
        await foreign.write('first\nchanged')
        await until(() => watch.lines().length === 3, 'the change')
        expect(watch.lines()[1]).to.match(/^\d\d:\d\d:\d\d {2}- second$/)
        expect(watch.lines()[2]).to.equal('          + changed')
        watch.child.kill('SIGINT')
        expect(await exitOf(watch.child)).to.equal(0)
      } finally {
        watch.child.kill('SIGKILL')
        await foreign.close()
      }
    })
  }
})
