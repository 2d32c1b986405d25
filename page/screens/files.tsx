import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { sizeText } from '../../src/lib/util/amounts.ts'
import { hashOf } from '../live/files.ts'
import type { Live } from '../live/live.ts'
import type { Carrier, Descriptor } from '../mcp/carrier.ts'
import { upload } from '../mcp/writes.ts'
import { Ago, CopyButton, Empty, tellSize } from '../parts/small.tsx'

/** Larger pictures of other types than PNG have no preview: they would be sent whole. */
const maxPreviewBytes = 2_000_000
const previewWidth = 320

/** What the application produced: renders, exports, shared documents. */
export function FilesScreen({ live }: { live: Live }) {
  const files = live.files.value
  return (
    <>
      <h1>Files</h1>
      <Upload live={live} />
      {files === null && <p class="quiet">Reading the list …</p>}
      {files?.length === 0 && (
        <Empty title="No files yet">
          <p>
            In Blender: AI Link, Share Render. In a terminal:{' '}
            <code>service-cli artefacts put FILE</code>
          </p>
        </Empty>
      )}
      <ul class="cards">
        {files?.map(file => (
          <FileCard key={file.uri} live={live} file={file} />
        ))}
      </ul>
    </>
  )
}

function FileCard({ live, file }: { live: Live; file: Descriptor }) {
  const { name, size, uri, annotations } = file
  const made = annotations?.lastModified
  return (
    <li class="card">
      <Preview carrier={live.carrier} file={file} />
      <strong>{name}</strong>
      <span class="quiet">
        {kindOf(file)}
        {size !== undefined && `, ${sizeText(size)}`}
        {made !== undefined && [', ', <Ago at={made} />]}
      </span>
      <span class="buttons">
        <a class="button" href={`/artefacts/sha256/${hashOf(file)}`} download={name}>
          Download
        </a>
        <CopyButton text={uri} label="Copy URI" />
      </span>
    </li>
  )
}

const kinds: Readonly<Record<string, string>> = {
  'application/octet-stream': 'File',
  'application/x-blender': 'Blender document',
  'application/json': 'JSON',
  'text/plain': 'Text',
}

/** "PNG picture" instead of "image/png". */
function kindOf({ mimeType = 'application/octet-stream' }: Descriptor): string {
  const known = kinds[mimeType]
  if (known !== undefined) return known
  const [group, type = ''] = mimeType.split(';', 1)[0]!.split('/')
  const name = type.replace(/^(x-|vnd\.)/, '').toUpperCase()
  return group === 'image' ? `${name} picture` : name
}

/** Reads its picture when it comes into view. */
function Preview({ carrier, file }: { carrier: Carrier; file: Descriptor }) {
  const source = useSignal<string | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const { uri, mimeType = '', size = 0 } = file
  const isPng = mimeType === 'image/png'
  const isShown =
    isPng || (/^image\/(jpeg|webp|gif|avif|svg\+xml)$/.test(mimeType) && size <= maxPreviewBytes)
  useEffect(() => {
    if (!isShown || box.current === null) return
    const seen = new IntersectionObserver(entries => {
      if (!entries.some(entry => entry.isIntersecting)) return
      seen.disconnect()
      const from = isPng ? `${uri}?max_width=${previewWidth}` : uri
      carrier.read(from).then(
        ({ blob }) => (source.value = `data:${mimeType};base64,${blob}`),
        () => {},
      )
    })
    seen.observe(box.current)
    return () => seen.disconnect()
  }, [uri])
  return (
    <div class="preview" ref={box}>
      {source.value === null ? (
        <span class="quiet">{kindOf(file)}</span>
      ) : (
        <img
          src={source.value}
          alt=""
          onLoad={({ currentTarget }) => tellSize(currentTarget, currentTarget)}
        />
      )}
    </div>
  )
}

function Upload({ live }: { live: Live }) {
  const state = useSignal('')
  const isOver = useSignal(false)
  const input = useRef<HTMLInputElement>(null)
  const { login } = live
  if (login === null) return null
  if (!login.isLoggedIn.value) {
    return (
      <p class="quiet">
        To add files for your AI, log in: run <code>service-cli page</code> and open its link.
      </p>
    )
  }
  const uploadAll = async (files: FileList | null | undefined) => {
    for (const file of files ?? []) {
      state.value = `Uploading ${file.name} …`
      try {
        await upload(file)
        state.value = `${file.name} is stored.`
      } catch (error) {
        state.value = `${file.name} is not stored: ${(error as Error).message}`
        return
      }
    }
  }
  return (
    <div
      class={`drop ${isOver.value ? 'over' : ''}`}
      onDragOver={event => {
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={event => {
        event.preventDefault()
        isOver.value = false
        void uploadAll(event.dataTransfer?.files)
      }}
    >
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={async ({ currentTarget }) => {
          await uploadAll(currentTarget.files)
          // The same file may be chosen again.
          currentTarget.value = ''
        }}
      />
      <button type="button" onClick={() => input.current?.click()}>
        Choose files
      </button>{' '}
      or drop them here: references, textures, briefs for your AI.
      <p role="status">{state.value}</p>
    </div>
  )
}
