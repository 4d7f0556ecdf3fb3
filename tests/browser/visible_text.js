async ([path, elements, words]) => {
  const answer = await fetch(path, {headers: {Accept: 'text/html'}, redirect: 'manual'}).catch(() => null);
  if (!answer) return null;
  const isPage = (answer.headers.get('Content-Type') || '').startsWith('text/html');
  if (!isPage) return {status: answer.status, words: false, made: []};
  const found = new DOMParser().parseFromString(await answer.text(), 'text/html');
  return {
    status: answer.status, words: found.body.textContent.includes(words),
    made: [...found.querySelectorAll(elements)].map(element => element.outerHTML.slice(0, 200)),
  };
}
