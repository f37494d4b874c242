def search(text, kind, question, limit, seen=""):
    return ""
