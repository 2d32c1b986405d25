import { createCipheriv, createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What every server serves, so that answers differ in nothing but the server's own framing. */
export interface Fixture {
  /** A scene whose JSON text is 2,048 bytes. */
  readonly sceneText: string
  /** The result of `resources/list`. */
  readonly resources: readonly { uri: string; name: string; [member: string]: unknown }[]
  readonly blobUri: string
}

export const sceneUri = 'scene://current'
export const blobBytes = 4 * 1024 * 1024
export const blobMime = 'application/octet-stream'

const sceneBytes = 2048
const fixtureVariable = 'BENCH_FIXTURE'

/** Numbered, so that each can differ from the one before while all have the same length. */
export function makeSceneText(revision: number): string {
  const objects: unknown[] = []
  const scene = { revision: 1_000_000 + revision, name: 'bench.blend', objects, filler: '' }
  const spare = () => sceneBytes - JSON.stringify(scene).length
  for (let id = 0; spare() > 160; id++) {
    const location = [id * 0.5, (id * 7) % 11, 1.25]
    objects.push({ id, name: `Object.${String(id).padStart(3, '0')}`, type: 'MESH', location })
  }
  scene.filler = '.'.repeat(spare())
  return JSON.stringify(scene)
}

/** Bytes that look random and are the same in every run; another `seed`, other bytes. */
export function makeBlob(seed: number, size = blobBytes): Buffer {
  const key = createHash('sha256').update(`bench ${seed}`).digest()
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size))
}

export function makeFixture(): Fixture {
  const hex = createHash('sha256').update(makeBlob(0)).digest('hex')
  const blobUri = `artefact://sha256/${hex}`
  const resources = ['scene://current', 'scene://delta', 'audit://recent', blobUri].map(uri => ({
    uri,
    name: uri.slice(0, uri.indexOf(':')),
    mimeType: 'application/json',
  }))
  return { sceneText: makeSceneText(0), resources, blobUri }
}

/** Writes it for a comparison server and returns the environment that points to it. */
export function fixtureEnvironment(folder: string, fixture: Fixture): Record<string, string> {
  const file = join(folder, 'fixture.json')
  writeFileSync(file, JSON.stringify(fixture))
  return { [fixtureVariable]: file }
}

/** In a comparison server. */
export function readFixture(): Fixture {
  return JSON.parse(readFileSync(process.env[fixtureVariable] ?? '', 'utf8'))
}
