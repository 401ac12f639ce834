// What the theme leaves out for people who use a keyboard or a screen reader.
window.addEventListener('load', () => {
  // Tables that are wider than the screen scroll in a box. It takes the focus, so that the arrow keys scroll it.
  for (const box of document.querySelectorAll('.md-typeset__scrollwrap')) box.tabIndex = 0;
  document.querySelector('.md-search')?.setAttribute('aria-label', 'Search');
});
