import { Writable } from 'node:stream'

/** A stdout whose lines are there while the command runs. */
export class Screen extends Writable {
  #text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#text += String(chunk)
    done()
  }

  lines(): string[] {
    return this.#text.split('\n').slice(0, -1)
  }
}
