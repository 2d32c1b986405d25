/** What every server serves, so that answers differ in nothing but the server's own framing. */
import { createCipheriv, hash } from 'node:crypto'

export const sceneUri = 'scene://current'
export const blobBytes = 4 * 1024 * 1024
export const blobUri = `artefact://sha256/${hash('sha256', makeBlob(0))}`

const sceneBytes = 2048

/** JSON of 2,048 bytes, numbered, so that each can differ from the one before. */
export function makeSceneText(revision: number): string {
  const objects = Array.from({ length: 22 }, (_, id) => {
    const location = [id * 0.5, (id * 7) % 11, 1.25]
    return { id, name: `Object.${id}`, type: 'MESH', location }
  })
  const scene = { revision: 1_000_000 + revision, name: 'bench.blend', objects, filler: '' }
  scene.filler = '.'.repeat(sceneBytes - JSON.stringify(scene).length)
  return JSON.stringify(scene)
}

/** Bytes that look random and are the same in every run; another `seed`, other bytes. */
export function makeBlob(seed: number, size = blobBytes): Buffer {
  const key = hash('sha256', `bench ${seed}`, 'buffer')
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size))
}
