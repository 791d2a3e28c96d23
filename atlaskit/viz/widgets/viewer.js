// The page of the trace viewer: one run, or two side by side.
export default {
  render({ model, el }) {
    let walker = null, showStatic = () => {};
    const receive = (message) => {
      if (message.is !== "runs" || walker) return;
      walker = new Walker(el, model, message.runs);
      walker.onShown = () => { showStatic = hideStaticPicture(el); };
    };
    model.on("msg:custom", receive);
    model.send({ want: "runs" });
    return () => {
      model.off("msg:custom", receive);
      walker?.close();
      showStatic();
    };
  },
};
