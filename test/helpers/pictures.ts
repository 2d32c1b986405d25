import { type Result, fail, ok } from '../../src/lib/util/result.ts'
import type {
  BackendName,
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
  Unavailable,
} from '../../src/server/capture/backend.ts'
import { crc32, deflateSync } from 'node:zlib'

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A chunk of a PNG file, its checksum right. */
export function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** The header of a PNG file: 8-bit RGB unless told otherwise. */
export function pngHeader(width: number, height: number, form = [8, 2, 0, 0, 0]): Buffer {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  data.set(form, 8)
  return pngChunk('IHDR', data)
}

/** A PNG file of pixels of three bytes each. */
export function rgbPng(pixels: Uint8Array, width: number, height: number): Buffer {
  const rows = Buffer.alloc((width * 3 + 1) * height)
  for (let row = 0; row < height; row++) {
    rows.set(pixels.subarray(row * width * 3, (row + 1) * width * 3), row * (width * 3 + 1) + 1)
  }
  const parts = [pngHeader(width, height), pngChunk('IDAT', deflateSync(rows)), pngChunk('IEND')]
  return Buffer.concat([pngSignature, ...parts])
}

/** A small PNG file in which no two rows are the same. */
export function pngOf(width: number, height: number): Buffer {
  const pixels = Uint8Array.from({ length: width * 3 * height }, (_, at) => at / (width * 3) + 1)
  return rgbPng(pixels, width, height)
}

/** A PNG file of one grey. */
export function greyPng(width: number, height: number, grey: number): Buffer {
  return rgbPng(new Uint8Array(width * height * 3).fill(grey), width, height)
}

export interface Taking {
  readonly target: CaptureTarget
  readonly form: CaptureForm
  readonly outcome: PromiseWithResolvers<Result<Capture, CaptureFailure>>
}

export const noDisplay: Unavailable = {
  reason: 'no_display',
  message: 'there is no display',
  hint: 'start it in a desktop session',
}

/** A backend whose windows a test holds in memory. */
export class MemoryBackend implements CaptureBackend {
  readonly name: BackendName
  /** What it says when it is probed. */
  state: Result<null, Unavailable> = ok(null)
  window = { width: 40, height: 20 }
  /** In place of a picture. */
  failure: CaptureFailure['reason'] | null = null
  /** Captures wait for `takings` to be settled by the test. */
  held = false
  readonly probed: CaptureTarget[] = []
  readonly takings: Taking[] = []

  constructor(name: BackendName = 'native') {
    this.name = name
  }

  async probe(target: CaptureTarget): Promise<Result<null, Unavailable>> {
    this.probed.push(target)
    return this.state
  }

  async capture(
    target: CaptureTarget,
    form: CaptureForm,
  ): Promise<Result<Capture, CaptureFailure>> {
    const outcome = Promise.withResolvers<Result<Capture, CaptureFailure>>()
    this.takings.push({ target, form, outcome })
    const { failure } = this
    if (failure !== null) return fail({ reason: failure, message: `${this.name} says ${failure}` })
    return this.held ? outcome.promise : ok(this.picture(form.maxWidth))
  }

  /** Another grey for each capture. */
  picture(maxWidth: number): Capture {
    const width = Math.min(this.window.width, maxWidth)
    const height = Math.max(1, Math.round((this.window.height * width) / this.window.width))
    return { png: greyPng(width, height, this.takings.length) }
  }
}
