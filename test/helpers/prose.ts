/** One sentence of a Markdown page, and the line its paragraph starts at. */
export interface Sentence {
  readonly line: number
  readonly text: string
}

/**
 * Returns the sentences of a Markdown page, without code blocks and HTML tags. A code span counts as
 * one word, a link as its text. Every table cell is a separate block.
 */
export function sentencesOf(markdown: string): Sentence[] {
  const sentences: Sentence[] = []
  for (const { line, text, isCell } of blocksOf(markdown)) {
    // cells hold notes rather than prose: there a semicolon ends one
    const end = isCell ? /(?<=[.!?;:][")*]*)\s+/ : /(?<=[.!?][")*]*)\s+/
    for (const part of text.split(end)) if (part !== '') sentences.push({ line, text: part })
  }
  return sentences
}

export function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)).length
}

interface Block {
  readonly line: number
  readonly text: string
  readonly isCell: boolean
}

/** Paragraphs, headings, list items and table cells. */
function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let paragraph: string[] = []
  let start = 0
  let fence = ''
  const flush = () => {
    const text = plain(paragraph.join(' '))
    if (text !== '') blocks.push({ line: start, text, isCell: false })
    paragraph = []
  }
  markdown.split('\n').forEach((raw, index) => {
    const text = raw.trim()
    const [, ticks = ''] = /^(```+)/.exec(text) ?? []
    if (fence !== '' || ticks !== '') {
      flush()
      if (fence === '') fence = ticks
      else if (text === fence) fence = ''
    } else if (raw.startsWith('    ') && paragraph.length === 0) {
      // an indented code block
    } else if (text.startsWith('|')) {
      flush()
      for (const cell of text.split(/(?<!\\)\|/)) {
        blocks.push({ line: index + 1, text: plain(cell), isCell: true })
      }
    } else {
      const [, mark = '', rest = ''] = /^((?:[-*>] |\d+\. |#+ )?)(.*)$/.exec(text) ?? []
      if (text === '' || mark !== '') flush()
      if (paragraph.length === 0) start = index + 1
      if (rest !== '') paragraph.push(rest)
      if (mark.startsWith('#')) flush()
    }
  })
  flush()
  return blocks
}

function plain(text: string): string {
  return text
    .replaceAll(/(`+).+?\1/g, '`code`')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<\/?\w[^>]*>/g, '')
    .replaceAll(/\b(e\.g|i\.e|etc|vs)\. /g, '$1 ')
    .trim()
}
