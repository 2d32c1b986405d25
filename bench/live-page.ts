/**
 * `node bench/live-page.ts`: what the live page costs. Frames a second while its tree of 10,000
 * objects scrolls in Chromium with software rendering, and the CPU of the server for 20 browsers
 * with one change a second, beside 20 plain subscribers and 20 that read each delta. Needs
 * chromium-headless-shell.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Browser, type Page } from 'playwright-core'
import { type ServeProcess, startServeProcess } from '../test/helpers/serve-process.ts'
import { listenStateless } from '../test/helpers/stateless.ts'
import { readCpuMs } from './cpu.ts'
import { describeMachine } from './machine.ts'

const executablePath = '/usr/bin/chromium-headless-shell'
const pages = 20
const changes = 20
const scrollFrames = 180

const sceneOf = (objects: number) => ({
  schema: 'dcc-scene/1',
  document: { name: 'bench.blend' },
  objects: Array.from({ length: objects }, (_, at) => ({
    id: `Object.${at}`,
    name: `Object.${at}`,
    type: at % 9 === 0 ? 'light' : 'mesh',
    visible: true,
    translate: [at, 0, 0],
    rotate: [0, 0, 0],
    scale: [1, 1, 1],
    ...(at % 10 === 0 ? {} : { parent: `Object.${at - (at % 10)}` }),
  })),
})

console.log(describeMachine())
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const serve = await startServeProcess()
try {
  await serve.post('scene', sceneOf(10_000))
  await scrolling(browser, serve)
  for (const objects of [200, 10_000]) {
    await serve.post('scene', sceneOf(objects))
    await costs(browser, serve, objects)
  }
} finally {
  await browser.close()
  await serve.stop()
}

/** Frames a second of the tree, by `requestAnimationFrame`. */
async function scrolling(browser: Browser, serve: ServeProcess): Promise<void> {
  const page = await openPage(browser, serve, 'scene')
  await page.locator('.row').first().waitFor()
  for (const step of [60, 600]) {
    const found = await page.evaluate(scroll, { step, frames: scrollFrames })
    console.log(
      `10,000 objects, ${step} px a frame: ${found.perSecond.toFixed(1)} frames/s, ` +
        `longest ${found.longestMs.toFixed(0)} ms, ${found.rows} rows in the document`,
    )
  }
  await page.context().close()
}

async function scroll({ step, frames }: { step: number; frames: number }) {
  const { document, performance, requestAnimationFrame } = globalThis as any
  const tree = document.querySelector('.tree')
  const next = () => new Promise<number>(resolve => requestAnimationFrame(resolve))
  const startMs = performance.now()
  let [last, longestMs]: [number, number] = [await next(), 0]
  for (let frame = 0; frame < frames; frame++) {
    tree.scrollTop += step
    const now = await next()
    longestMs = Math.max(longestMs, now - last)
    last = now
  }
  const perSecond = (frames / (performance.now() - startMs)) * 1000
  return { perSecond, longestMs, rows: document.querySelectorAll('.row').length }
}

/** CPU of the server while objects move, one a second. */
async function costs(browser: Browser, serve: ServeProcess, objects: number): Promise<void> {
  const idle = await cpuShare(serve)
  const streams = []
  for (let count = 0; count < pages; count++) {
    streams.push(await listenStateless(serve.url, { resourceSubscriptions: ['scene://current'] }))
  }
  const plain = await cpuShare(serve)
  for (const stream of streams) stream.close()
  const opened: Page[] = []
  for (let count = 0; count < pages; count++) opened.push(await openPage(browser, serve, 'now'))
  const withPages = await cpuShare(serve)
  // The last change has been read, and its picture.
  await sleep(5000)
  const quietBefore = cpuMs(serve)
  await sleep(10_000)
  const quietMs = cpuMs(serve) - quietBefore
  for (const page of opened) await page.context().close()
  console.log(
    `${objects} objects, one change a second, % of a core: nobody ${idle}, ${pages} plain ` +
      `subscribers ${plain}, ${pages} pages ${withPages}; ${pages} pages without a change: ` +
      `${quietMs.toFixed(0)} ms CPU in 10 s`,
  )
}

async function cpuShare(serve: ServeProcess): Promise<string> {
  const startMs = performance.now()
  const before = cpuMs(serve)
  for (let change = 0; change < changes; change++) {
    await patch(serve, change)
    await sleep(1000)
  }
  const usedMs = cpuMs(serve) - before
  return ((usedMs / (performance.now() - startMs)) * 100).toFixed(1)
}

function cpuMs({ pid }: ServeProcess): number {
  return readCpuMs(pid) ?? Number.NaN
}

async function patch(serve: ServeProcess, x: number): Promise<void> {
  const response = await fetch(`${serve.hostUrl}/v1/scene`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${serve.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ objects: [{ id: 'Object.1', name: 'Object.1', translate: [x, 0, 1] }] }),
  })
  if (!response.ok) throw new Error(`the scene was not changed: ${await response.text()}`)
}

async function openPage(browser: Browser, { base }: ServeProcess, screen: string): Promise<Page> {
  // Its own connections, as another browser has.
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
  const page = await context.newPage()
  await page.goto(`${base}/#/${screen}`)
  await page.locator('.connection.live').waitFor()
  return page
}
