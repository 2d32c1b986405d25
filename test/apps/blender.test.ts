import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { SdkClient, Updates } from '../clients/client-face.ts'
import { readJson } from '../clients/scenario.ts'
import { cleanEnvironment, end, type Serving, startServe } from '../clients/serve.ts'
import { skipBecause } from '../helpers/skip.ts'
import { connectWatcher } from './watcher.ts'

const script = fileURLToPath(new URL('blender/post-scene.py', import.meta.url))
const blenderDeadlineMs = 60_000

interface Upload {
  uri: string
  existed: boolean
  sha256: string
  size: number
}

interface Report {
  revisions: number[]
  next_cursor: number
  image: Upload
  document: Upload
}

interface SceneObject {
  name: string
  type: string
  location: number[]
  world_location: number[]
}

describe('a real Blender beside serve', function () {
  this.timeout(90_000)
  let folder: string
  let registryDir: string
  let serving: Serving
  let client: SdkClient
  let updates: Updates
  let report: Report

  before(async function () {
    if (spawnSync('blender', ['--version']).error !== undefined) {
      skipBecause(this, 'blender is not installed (Debian: apt-get install blender)')
    }
    folder = await mkdtemp(join(tmpdir(), 'service-cli-blender-'))
    registryDir = join(folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    serving = await startServe(registryDir)
    ;({ client, updates } = await connectWatcher(serving.url))
  })
  after(async () => {
    await client?.close()
    const code = await serving?.stop()
    if (folder === undefined) return
    await rm(folder, { recursive: true, force: true })
    expect(code).to.equal(0)
  })

  it('has a record of itself and no scene before the application comes', async () => {
    const file = join(registryDir, 'instances', `${serving.instance_id}.json`)
    const record: unknown = JSON.parse(await readFile(file, 'utf8'))
    expect(record).to.include({
      schema_version: 1,
      instance_id: serving.instance_id,
      pid: serving.pid,
      mcp_url: serving.url,
      host_url: serving.host_url,
    })
    expect(await readJson(client, 'scene://current')).to.include({ status: 'no_snapshot' })
  })

  it('tells the client what Blender moved, and the client reads where it went', async () => {
    await client.subscribeResource({ uri: 'scene://current' })
    await client.subscribeResource({ uri: 'audit://recent' })
    const token = (await readFile(serving.host_token_file, 'utf8')).trim()
    const blender = startBlender(folder, { host: serving.host_url, token })
    try {
      await Promise.race([updates.until('scene://current', 1, blenderDeadlineMs), blender.failed])
      expect(await positionsOf('Rig', 'Cube')).to.deep.equal({ Rig: [1, 2, 3], Cube: [1.5, 2, 3] })

      blender.child.stdin?.write('move\n')
      await Promise.race([updates.until('scene://current', 2, blenderDeadlineMs), blender.failed])
      // The child follows its parent: evaluated by Blender, not copied by the script.
      expect(await positionsOf('Rig', 'Cube')).to.deep.equal({ Rig: [1, 2, 7], Cube: [1.5, 2, 7] })
      await updates.until('audit://recent', 1)
      expect(await blender.exited(), blender.output()).to.equal(0)
      report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as Report
      expect(report.revisions).to.have.length(2)
      expect(updates.count('scene://current')).to.equal(2)
    } finally {
      await end(blender.child)
    }
  })

  it('keeps what Blender reported: the audit entry and the events', async () => {
    const { entries } = await readJson(client, 'audit://recent?limit=1')
    expect(entries[0]).to.deep.include({
      action: 'object.move',
      actor: 'artist',
      params: { object: 'Rig', delta: [0, 0, 4] },
      duration_ms: 1.5,
      outcome: 'success',
      session_id: 'blender-session',
    })

    const page = await readJson(client, 'events://session/blender-session?cursor=0&limit=2')
    expect(page.events.map(event => event.message)).to.deep.equal([
      'moved Rig',
      'rendered still.png',
    ])
    expect(page.events[0]).to.include({
      session_id: 'blender-session',
      tool_call_id: 'call-1',
      correlation_id: 'shot-10',
      job_id: null,
    })
    const uri = `events://session/blender-session?cursor=${page.next_cursor}`
    const { events } = await readJson(client, uri)
    expect(events.map(event => event.message)).to.deep.equal(['saved scene.blend'])
    expect(report.next_cursor).to.equal(events[0]?.id)
  })

  it('hands out the render and the document, byte for byte', async () => {
    for (const name of ['image', 'document'] as const) {
      const { uri, sha256, size, existed } = report[name]
      expect(existed).to.equal(false)
      expect(uri).to.equal(`artefact://sha256/${sha256}`)
      const [content] = (await client.readResource({ uri })).contents
      const bytes = Buffer.from(content?.blob ?? '', 'base64')
      expect(bytes).to.have.length(size)
      expect(createHash('sha256').update(bytes).digest('hex')).to.equal(sha256)
    }
    const listed = (await client.listResources()).resources
    expect(listed.find(({ uri }) => uri === report.image.uri)).to.include({
      name: 'still.png',
      mimeType: 'image/png',
    })
  })

  async function positionsOf(...names: string[]): Promise<Record<string, number[] | undefined>> {
    const scene = await readJson(client, 'scene://current')
    const objects = scene.objects as SceneObject[]
    return Object.fromEntries(
      names.map(name => [name, objects.find(each => each.name === name)?.world_location]),
    )
  }
})

interface Blender {
  child: ChildProcess
  /** Rejects when Blender ends with an error; never resolves. */
  failed: Promise<never>
  exited(): Promise<number | null>
  output(): string
}

function startBlender(folder: string, to: { host: string; token: string }): Blender {
  const args = ['-b', '--factory-startup', '--python-exit-code', '7', '--python', script]
  const child = spawn('blender', [...args, '--', folder], {
    env: { ...cleanEnvironment(folder), SERVICE_HOST_URL: to.host, SERVICE_HOST_TOKEN: to.token },
    timeout: blenderDeadlineMs,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  // What follows a failed Blender is told by its exit code.
  child.stdin.on('error', () => {})
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  const failed = exit.then(code =>
    code === 0
      ? new Promise<never>(() => {})
      : Promise.reject(new Error(`Blender ended with ${code}\n${output}`)),
  )
  failed.catch(() => {})
  return { child, failed, exited: () => exit, output: () => output }
}
