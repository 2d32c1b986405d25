import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { ok } from '../../../src/lib/util/result.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import { MemoryBackend } from '../../helpers/memory-capture.ts'
import { ManualTime } from '../resources/manual-time.ts'

export const target = ok({ pid: 4711, title: null })
export const another = ok({ pid: 4712, title: null })

/** Resolves after every promise that can settle now has settled. */
export const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** 'a picture', or the reason why there is none. */
export const reasonOf = (read: Promise<unknown>) =>
  read.then(
    () => 'a picture',
    error => error.data.reason as string,
  )

/** A `WindowCapture` on a backend in memory and a manual clock, new for each test. */
export class CaptureBench {
  time = new ManualTime()
  backend = new MemoryBackend()
  changes = 0
  readonly taken: string[] = []
  #capture: WindowCapture | null = null

  get capture(): WindowCapture {
    return this.#capture ?? expect.fail('not open')
  }

  open(limits = {}, backends: MemoryBackend[] = [this.backend]): WindowCapture {
    const parts = {
      mode: 'auto' as const,
      backends,
      log: silentLogger,
      ticks: this.time,
      timer: this.time,
      onTaken: (view: string) => void this.taken.push(view),
    }
    this.#capture = new WindowCapture(
      { ...parts, limits: resolveCaptureLimits(limits) },
      noApplication,
    )
    this.#capture.onChange(() => this.changes++)
    return this.#capture
  }
}
