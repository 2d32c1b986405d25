import { expect } from 'chai'
import fc from 'fast-check'
import { systemTimer } from '../../../../src/lib/util/time.ts'
import { createWindowBackends } from '../../../../src/server/capture/window-backends.ts'
import { windowCaptureLimits } from '../../../../src/server/capture/window-limits.ts'
import { fakeDisplay, greeting, refusal, reply, type Script } from './fake-display.ts'

const target = { pid: process.pid, title: null }
const cases = Number(process.env.FUZZ_CASES ?? 100)

/** What a backend says of a display that behaves like this. */
async function meet(script: Script, displayTimeoutMs = 3000) {
  const display = await fakeDisplay(script)
  const limits = { ...windowCaptureLimits, displayTimeoutMs }
  const env = { DISPLAY: display.name, XAUTHORITY: '/nowhere' }
  const backends = createWindowBackends({ env, timer: systemTimer, limits })
  const backend = backends.x11
  const form = { maxWidth: 1000, maxBytes: 1e6, signal: AbortSignal.timeout(10_000) }
  try {
    const probed = await backend.probe(target)
    const captured = await backend.capture(target, form)
    return {
      probe: probed.ok ? 'ok' : probed.failure.reason,
      said: probed.ok ? '' : probed.failure.message,
      capture: captured.ok ? 'ok' : captured.failure.reason,
      shown: display.shown,
    }
  } finally {
    await backends.x11.close?.()
    await display.close()
  }
}

const silent = (): null => null

describe('the X11 backend', () => {
  it('is not available without DISPLAY, and says how it would be', async () => {
    const backend = createWindowBackends({ env: {}, timer: systemTimer }).x11
    const probed = await backend.probe(target)
    expect(probed)
      .to.have.property('failure')
      .that.includes({ reason: 'no_display', message: 'DISPLAY is not set' })
    const wayland = createWindowBackends({ env: { WAYLAND_DISPLAY: 'w' }, timer: systemTimer }).x11
    const hinted = await wayland.probe(target)
    expect(hinted).to.have.nested.property('failure.hint').that.includes('XWayland')
  })

  it('is not available where nothing listens', async () => {
    const display = await fakeDisplay({ greeting: null, answer: silent })
    await display.close()
    const backend = createWindowBackends({ env: { DISPLAY: display.name }, timer: systemTimer }).x11
    const probed = await backend.probe(target)
    expect(probed).to.have.nested.property('failure.message').that.includes('nothing answers')
  })

  it('repeats why a display refuses', async () => {
    const met = await meet({
      greeting: refusal('Maximum number of clients reached'),
      answer: silent,
    })
    expect(met).to.include({ probe: 'no_display', capture: 'no_display' })
    expect(met.said).to.include('Maximum number of clients reached')
  })

  it('does not wait for a display that says nothing', async () => {
    const met = await meet({ greeting: null, answer: silent }, 100)
    expect(met).to.include({ probe: 'no_display', capture: 'timeout' })
  })

  it('does not wait for an answer that does not come', async () => {
    const met = await meet({ greeting: greeting(), answer: silent }, 100)
    expect(met).to.include({ probe: 'no_display', capture: 'timeout' })
  })

  it('bears a display that goes away', async () => {
    const met = await meet({ greeting: greeting(), answer: silent, endAfter: 3 })
    expect(met).to.include({ probe: 'no_display', capture: 'failed' })
    expect(met.said).to.include('ended the connection')
  })

  it('bears a display without screens', async () => {
    const met = await meet({ greeting: greeting({ screens: 0 }), answer: silent })
    expect(met).to.include({ probe: 'no_display', capture: 'no_display' })
  })

  it('sees that there is no window manager', async () => {
    // No atom and no property: nobody ever named one.
    const met = await meet({
      greeting: greeting(),
      answer: sequence => reply(sequence, 0, Buffer.alloc(24)),
    })
    expect(met).to.include({ probe: 'no_window_manager', capture: 'failed' })
  })

  it('bears answers of any content', async () => {
    const fixed = fc.uint8Array({ minLength: 24, maxLength: 24 })
    const answers = fc.array(
      fc.record({
        detail: fc.constantFrom(0, 8, 24, 32),
        fixed,
        more: fc.uint8Array({ maxLength: 64 }),
      }),
      { minLength: 1, maxLength: 20 },
    )
    const fuzz = fc.asyncProperty(answers, async list => {
      const met = await meet({
        greeting: greeting(),
        answer(sequence) {
          const { detail, fixed: bytes, more } = list[sequence % list.length] ?? fallback
          return reply(sequence, detail, Buffer.from(bytes), Buffer.from(more))
        },
      })
      expect(met.capture).to.not.equal('ok')
    })
    await fc.assert(fuzz, { numRuns: Math.min(cases, 100) })
  })
})

const fallback = { detail: 0, fixed: new Uint8Array(24), more: new Uint8Array() }
