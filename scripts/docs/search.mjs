/** The search of the site, in a browser. It loads all sections when the field gets the focus first, and then needs no server. */
import MiniSearch from 'minisearch';

const field = document.getElementById('search');
const list = document.getElementById('results');
const found = document.getElementById('found');
const { top = './', sections: address = '' } = document.body.dataset;
const most = 12;

let index;
/** Loads the index once; a failed load is repeated at the next key. */
function loadIndex() {
  index ??= fetch(address)
    .then((answer) => {
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      return answer.json();
    })
    .then((sections) => {
      const made = new MiniSearch({
        idField: 'address',
        fields: ['title', 'page', 'text'],
        storeFields: ['title', 'page', 'text'],
        searchOptions: {
          boost: { title: 4, page: 2 },
          prefix: (term) => term.length > 2,
          fuzzy: (term) => (term.length > 4 ? 0.2 : false),
          combineWith: 'AND',
        },
      });
      made.addAll(sections);
      return made;
    })
    .catch((error) => {
      index = undefined;
      throw error;
    });
  return index;
}

/** About 140 characters of the text around the first of the words. */
function excerpt(text, words) {
  const low = text.toLowerCase();
  const places = words.map((word) => low.indexOf(word.toLowerCase())).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - 50);
  const begin = places.length === 0 ? 0 : start;
  return `${begin > 0 ? '…' : ''}${text.slice(begin, begin + 140)}${begin + 140 < text.length ? '…' : ''}`;
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className !== '') made.className = className;
  made.textContent = text;
  return made;
}

function show(hits) {
  list.replaceChildren(
    ...hits.slice(0, most).map(({ id, title, page, text, terms }) => {
      const link = element('a', '', '');
      link.href = top + id;
      link.append(
        element('span', 'hit-title', title),
        element('span', 'hit-page', title === page ? '' : page),
        element('span', 'hit-text', excerpt(text, terms)),
      );
      return link;
    }),
  );
  if (hits.length === 0) list.append(element('p', 'none', 'Nothing found.'));
  found.textContent = `${hits.length} ${hits.length === 1 ? 'section' : 'sections'} found`;
  list.hidden = false;
}

function close() {
  list.hidden = true;
  found.textContent = '';
}

async function search() {
  const query = field.value.trim();
  if (query === '') return close();
  try {
    const hits = (await loadIndex()).search(query);
    // A newer key has its own search.
    if (field.value.trim() === query) show(hits);
  } catch {
    list.replaceChildren(element('p', 'none', 'The search could not be loaded. Type again to retry.'));
    list.hidden = false;
  }
}

field.addEventListener('focus', () => void loadIndex().catch(() => {}), { once: true });
field.addEventListener('input', () => void search());
field.addEventListener('keydown', (event) => {
  const first = list.querySelector('a');
  if (event.key === 'Escape') close();
  if (event.key === 'ArrowDown' && first !== null) first.focus();
  if (event.key === 'Enter' && first !== null && !list.hidden) first.click();
});
list.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === 'Escape') {
    close();
    field.focus();
  }
  if (event.key === 'ArrowDown') links[at + 1]?.focus();
  if (event.key === 'ArrowUp') (links[at - 1] ?? field).focus();
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') event.preventDefault();
});
list.addEventListener('click', close);
document.addEventListener('click', ({ target }) => {
  if (!list.contains(target) && target !== field) close();
});
document.addEventListener('keydown', (event) => {
  if (
    event.key !== '/' ||
    event.ctrlKey ||
    event.metaKey ||
    /^(?:INPUT|TEXTAREA)$/.test(event.target.tagName)
  )
    return;
  event.preventDefault();
  field.focus();
});
