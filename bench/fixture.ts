import { createCipheriv, createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Descriptor {
  readonly uri: string
  readonly name: string
  readonly [member: string]: unknown
}

/** What every server serves, so that answers differ in nothing but the server's own framing. */
export interface Fixture {
  /** A scene whose JSON text is 2,048 bytes. */
  readonly sceneText: string
  readonly descriptors: readonly Descriptor[]
  readonly blobUri: string
  readonly blobMime: string
  readonly blobFile: string
}

/** In a comparison server. */
export interface LoadedFixture extends Fixture {
  readonly blob: Buffer
  /** The server's own, for what it writes. */
  readonly folder: string
}

export const sceneUri = 'scene://current'
export const blobBytes = 4 * 1024 * 1024
export const blobMime = 'application/octet-stream'
export const fixtureVariable = 'BENCH_FIXTURE'

const sceneBytes = 2048

/**
 * A scene of objects with names and transforms; numbered, so that each can differ from the one
 * before while all have the same length.
 */
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

/** The scene as `serve` has it, with facts beside it as long as its own. */
export function sceneContent(text: string): object {
  const facts = { run: '5f0c9a1e', revision: 12, set_at: '2026-11-25T01:58:01.200Z' }
  const _meta = { 'service-cli/scene': { ...facts, size: text.length, application: null } }
  return { uri: sceneUri, mimeType: 'application/json', text, _meta }
}

/** Bytes that look random and are the same in every run; another `seed`, other bytes. */
export function makeBlob(seed: number, size = blobBytes): Buffer {
  const key = createHash('sha256').update(`bench ${seed}`).digest()
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size))
}

export function writeFixture(folder: string): Fixture {
  const blob = makeBlob(0)
  const blobFile = join(folder, 'blob')
  writeFileSync(blobFile, blob)
  const blobUri = `artefact://sha256/${createHash('sha256').update(blob).digest('hex')}`
  return {
    sceneText: makeSceneText(0),
    descriptors: defaultDescriptors(blobUri),
    blobUri,
    blobMime,
    blobFile,
  }
}

/** Writes the fixture for a comparison server and returns the environment that points to it. */
export function fixtureEnvironment(folder: string, fixture: Fixture): Record<string, string> {
  const file = join(folder, 'fixture.json')
  writeFileSync(file, JSON.stringify(fixture))
  return { [fixtureVariable]: file }
}

/** In a comparison server: the fixture its environment points to. */
export function readFixture(): LoadedFixture {
  const file = process.env[fixtureVariable]
  if (file === undefined) throw new Error(`set ${fixtureVariable} to the fixture's file`)
  const fixture = JSON.parse(readFileSync(file, 'utf8')) as Fixture
  return { ...fixture, blob: readFileSync(fixture.blobFile), folder: dirname(file) }
}

/** Eight, for when no server of ours says what it lists. */
function defaultDescriptors(blobUri: string): Descriptor[] {
  const others = ['scene://delta', 'audit://recent', 'events://session/a', 'events://session/b']
  return [
    { uri: sceneUri, name: 'scene', mimeType: 'application/json' },
    ...others.map(uri => ({
      uri,
      name: uri.slice(0, uri.indexOf(':')),
      mimeType: 'application/json',
    })),
    { uri: blobUri, name: 'blob', mimeType: blobMime, size: blobBytes },
    { uri: `${blobUri.slice(0, -1)}x`, name: 'second', mimeType: blobMime, size: 1 },
    { uri: `${blobUri.slice(0, -1)}y`, name: 'third', mimeType: blobMime, size: 1 },
  ]
}
