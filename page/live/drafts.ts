import { type Signal, signal } from '@preact/signals'

/** A place on a picture: shares of its width and height, from the top left. */
export type Pin = readonly [number, number]

/** The view that a person points at. With `view` the application draws the same picture again. */
export interface DrawnView {
  readonly source: string
  readonly view: object
}

/** What a person has typed and not sent yet: kept in this tab whichever screen is shown. */
export class Drafts {
  readonly #texts = new Map<string, Signal<string>>()
  /** The view of the new note; null: it points at nothing. */
  readonly view = signal<DrawnView | null>(null)
  readonly pin = signal<Pin | null>(null)
  /** The document that the view is of. */
  document: string | null = null

  /** The text of a field; `key` names it among all. */
  text(key: string): Signal<string> {
    const known = this.#texts.get(key) ?? signal('')
    this.#texts.set(key, known)
    return known
  }

  /** Sends the text. It stays when that fails, and what is typed meanwhile stays, too. */
  async send(text: Signal<string>, send: (text: string) => Promise<void>): Promise<void> {
    const sent = text.value
    await send(sent)
    if (text.value === sent) text.value = ''
  }
}
