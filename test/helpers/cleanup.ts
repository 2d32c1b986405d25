import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type End = () => unknown

const ofFile: End[] = []
const ofTest: End[] = []
let isInTest = false

/** Runs `end` after the running test, with its `beforeEach`, or after all tests of the file. The last comes first. */
export function atEnd(end: End): void {
  const ends = isInTest ? ofTest : ofFile
  ends.push(end)
}

/** A `stop` that runs once: when it is called, or at the end. */
export function stoppedAtEnd<Value>(stop: () => Promise<Value>): () => Promise<Value> {
  let stopped: Promise<Value> | undefined
  const once = () => (stopped ??= stop())
  atEnd(once)
  return once
}

/** A new folder, which is removed at the end. */
export function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'service-cli-test-'))
  atEnd(() => rmSync(path, { recursive: true, force: true, maxRetries: 3 }))
  return path
}

/** Runs a step of a test that makes something for the tests after it: it lasts until the end of the file. */
export async function forFile<Value>(make: () => Promise<Value>): Promise<Value> {
  const before = isInTest
  isInTest = false
  try {
    return await make()
  } finally {
    isInTest = before
  }
}

export function beginTest(): void {
  isInTest = true
}

export function endTest(): Promise<void> {
  isInTest = false
  return runAll(ofTest)
}

export function endFile(): Promise<void> {
  return runAll(ofFile)
}

/** All of them, whatever fails; then throws the first failure. */
async function runAll(ends: End[]): Promise<void> {
  const failures: unknown[] = []
  for (const end of ends.splice(0).reverse()) {
    try {
      await end()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
